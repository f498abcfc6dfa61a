package keygen

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// words returns a CPU generator that answers the given values, then nothing.
func words(values ...uint64) func() (uint64, bool) {
	return func() (uint64, bool) {
		if len(values) == 0 {
			return 0, false
		}
		v := values[0]
		values = values[1:]
		return v, true
	}
}

// TestFreshRandomKeepsHistoriesApart restores a "snapshot": the kernel's
// generator repeats, the CPU's does not.
func TestFreshRandomKeepsHistoriesApart(t *testing.T) {
	const kernel = "the kernel's state comes back..."
	read := func(cpu func() (uint64, bool)) (key [16]byte) {
		r := &FreshRandom{kernel: strings.NewReader(kernel), cpu: cpu}
		if _, err := io.ReadFull(r, key[:]); err != nil {
			t.Fatal(err)
		}
		if !r.Fresh() {
			t.Fatal("not fresh")
		}
		return key
	}
	one, other := read(words(1, 2, 3, 4)), read(words(1, 2, 3, 5))
	if one == other {
		t.Error("two histories drew one key")
	}
	input := []byte(kernel)
	for _, v := range []uint64{1, 2, 3, 4} {
		input = binary.LittleEndian.AppendUint64(input, v)
	}
	if want := sha256.Sum256(input); !bytes.Equal(one[:], want[:16]) {
		t.Errorf("drew %x, want the SHA-256 of both sources, %x", one, want[:16])
	}
}

func TestFreshRandomNoticesStuckCPU(t *testing.T) {
	for what, cpu := range map[string]func() (uint64, bool){
		"all ones":   words(1<<64-1, 1, 2, 3),
		"zero":       words(7, 0, 2, 3),
		"repeats":    words(7, 8, 8, 9),
		"no value":   words(1, 2, 3),
		"no more":    words(),
		"no such op": nil,
	} {
		r := &FreshRandom{kernel: strings.NewReader(strings.Repeat("k", 128)), cpu: cpu}
		var a, b [32]byte
		if _, err := io.ReadFull(r, a[:]); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, b[:]); err != nil || r.Fresh() {
			t.Errorf("%s: fresh is %v, %v", what, r.Fresh(), err)
		}
	}
}

func TestFreshRandomFailsWithTheKernel(t *testing.T) {
	failure := errors.New("no entropy")
	r := &FreshRandom{kernel: iotest.ErrReader(failure), cpu: words(1, 2, 3, 4)}
	if _, err := r.Read(make([]byte, 16)); !errors.Is(err, failure) {
		t.Errorf("read: %v", err)
	}
}

// TestFreshRandomOnThisMachine compares with what the kernel says of the CPU.
func TestFreshRandomOnThisMachine(t *testing.T) {
	cpuinfo, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	flags := strings.Fields(string(cpuinfo))
	want := false
	for _, flag := range flags {
		want = want || flag == "rdrand" || flag == "rng"
	}
	r := NewFreshRandom()
	seen := map[[32]byte]bool{}
	for range 1000 {
		var b [32]byte
		if n, err := r.Read(b[:]); n != len(b) || err != nil || seen[b] {
			t.Fatalf("read %d bytes, %v, seen before: %v", n, err, seen[b])
		}
		seen[b] = true
	}
	if r.Fresh() != want {
		t.Errorf("fresh is %v, /proc/cpuinfo says %v", r.Fresh(), want)
	}
}

// TestFreshRandomOnArm64 runs the arm64 code on a CPU with RNDR and on one
// without, both emulated.
func TestFreshRandomOnArm64(t *testing.T) {
	program := filepath.Join(t.TempDir(), "fresh")
	build := exec.Command("go", "build", "-o", program, "./testdata/fresh")
	build.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for cpu, want := range map[string]string{"max": "true true\n", "cortex-a57": "false true\n"} {
		out, err := exec.Command("qemu-aarch64", "-cpu", cpu, program).CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("on a %s: %q, %v (qemu-aarch64 is in Debian's package qemu-user), want %q", cpu, out, err, want)
		}
	}
}
