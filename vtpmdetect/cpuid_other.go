//go:build !amd64

package vtpmdetect

// hardwareCPUID is nil: CPUID is executed on amd64 only.
var hardwareCPUID CPUID
