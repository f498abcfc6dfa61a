//go:build !amd64 && !(linux && arm64)

package keygen

// cpuHasRandom reports that no CPU generator is known here.
func cpuHasRandom() bool { return false }

// cpuRandom is never called where [cpuHasRandom] reports false.
func cpuRandom() (value uint64, ok bool) { return 0, false }
