//go:build !amd64

package vtpmdetect

// hardwareCPUID is nil: the CPU has no CPUID instruction.
var hardwareCPUID CPUID
