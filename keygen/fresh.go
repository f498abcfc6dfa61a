package keygen

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"sync/atomic"
)

// FreshRandom is randomness that a restored memory snapshot does not repeat: it
// mixes the kernel's generator, whose state comes back with the snapshot, with
// the CPU's (RDRAND on amd64, RNDR on arm64), whose state lies outside. The mix
// is a SHA-256, so it is at least as good as the better of the two. It is an
// [io.Reader] for many goroutines at once.
//
// Where the CPU has no such instruction, or it is stuck, the kernel's generator
// stands alone, and [FreshRandom.Fresh] says so.
type FreshRandom struct {
	kernel io.Reader
	cpu    func() (uint64, bool) // nil: none
	last   atomic.Uint64
	stuck  atomic.Bool
}

// NewFreshRandom returns the machine's generators, mixed.
func NewFreshRandom() *FreshRandom {
	r := &FreshRandom{kernel: rand.Reader}
	if cpuHasRandom() {
		r.cpu = cpuRandom
	}
	return r
}

// Fresh reports whether what was read so far had the CPU's generator in it. Once
// false it stays false.
func (r *FreshRandom) Fresh() bool { return r.cpu != nil && !r.stuck.Load() }

// Read fills p, 32 bytes from each source for each 32 bytes of p. Errors are the
// kernel generator's.
func (r *FreshRandom) Read(p []byte) (int, error) {
	for n := 0; n < len(p); {
		var input [64]byte
		if _, err := io.ReadFull(r.kernel, input[:32]); err != nil {
			return n, err
		}
		r.readCPU(input[32:])
		sum := sha256.Sum256(input[:])
		n += copy(p[n:], sum[:])
	}
	return len(p), nil
}

// readCPU fills p, a multiple of 8 bytes, from the CPU's generator as long as
// that works.
func (r *FreshRandom) readCPU(p []byte) {
	for ; len(p) > 0 && r.Fresh(); p = p[8:] {
		v, ok := r.cpu()
		// A generator that repeats itself is stuck: some CPUs answer all ones
		// for ever after a suspend. By chance it happens once in 2^64 reads.
		if !ok || v == 0 || v == 1<<64-1 || v == r.last.Swap(v) {
			r.stuck.Store(true)
			return
		}
		binary.LittleEndian.PutUint64(p, v)
	}
}
