package keygen

// cpuHasRandom reports whether the CPU has RDRAND: CPUID leaf 1, ECX bit 30
// (Intel SDM, volume 2A, CPUID).
func cpuHasRandom() bool { return cpuid1ECX()&(1<<30) != 0 }

// cpuid1ECX returns ECX of CPUID leaf 1.
//
//go:noescape
func cpuid1ECX() uint32

// cpuRandom reads RDRAND, ten times at most, as Intel's software guide for it
// advises; ok is false if it never had a value.
//
//go:noescape
func cpuRandom() (value uint64, ok bool)
