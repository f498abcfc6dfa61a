package keygen

import (
	"encoding/binary"
	"os"
)

// cpuHasRandom reports whether the CPU has RNDR, as the kernel tells in the
// auxiliary vector: AT_HWCAP2, bit HWCAP2_RNG (Linux, arch/arm64 elf_hwcaps).
func cpuHasRandom() bool {
	const hwcap2, rng = 26, 1 << 16
	vector, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		return false
	}
	for ; len(vector) >= 16; vector = vector[16:] {
		if binary.LittleEndian.Uint64(vector) == hwcap2 {
			return binary.LittleEndian.Uint64(vector[8:])&rng != 0
		}
	}
	return false
}

// cpuRandom reads RNDR, ten times at most; ok is false if it never had a value.
//
//go:noescape
func cpuRandom() (value uint64, ok bool)
