package keygen

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestRunMintsTheLeasesNames: wherever a run begins and ends, its names are those
// of the lease, byte for byte, and no more.
func TestRunMintsTheLeasesNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(0, 2500).Draw(t, "names")
		i := rapid.Uint64Range(0, 200).Draw(t, "from")
		after := rapid.Uint64Range(0, 2).Draw(t, "after")
		count := max(1, i+n+after)
		terms := Terms{
			Class: ClassV, Identity: NewIdentity([32]byte{1}, [32]byte{2}, [16]byte{3}), Epoch: 9, Count: count,
			First: rapid.OneOf(rapid.Uint64Range(0, 3000), rapid.Uint64Range(MaxSeq-6000, MaxSeq+1-count)).Draw(t, "first"),
			Key:   Key(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "key")),
		}
		lease, err := NewLease(terms)
		if err != nil {
			t.Fatal(err)
		}
		var run Run
		if err := run.Reset(lease, i, n); err != nil {
			t.Fatal(err)
		}
		wantRun(t, &run, lease, i, n)
	})
}

// wantRun wants names i to i+n-1 of the lease of the run, in either form.
func wantRun(t *rapid.T, run *Run, lease *Lease, i, n uint64) {
	for k := range n {
		want, err := lease.Name(i + k)
		if err != nil || run.Left() != n-k {
			t.Fatalf("name %d: %d left, %v", k, run.Left(), err)
		}
		if k%3 == 0 {
			if got, err := run.Name(); err != nil || got != want {
				t.Fatalf("name %d: %s, %v, want %s", k, got, err, want)
			}
		} else if got, err := run.AppendName([]byte("x")); err != nil || string(got) != "x"+want.String() {
			t.Fatalf("name %d: %s, %v, want %s", k, got, err, want)
		}
	}
	got, err := run.AppendName([]byte("x"))
	if !errors.Is(err, ErrLeaseRange) || string(got) != "x" || run.Left() != 0 {
		t.Fatalf("after the last: %s, %v, %d left", got, err, run.Left())
	}
	if name, err := run.Name(); !errors.Is(err, ErrLeaseRange) || !name.IsZero() {
		t.Fatalf("after the last: %s, %v", name, err)
	}
}

func TestRunOutsideTheLease(t *testing.T) {
	lease, err := NewLease(Terms{Class: ClassH, Identity: NewIdentity([32]byte{}, [32]byte{}, [16]byte{1}), Count: 10})
	if err != nil {
		t.Fatal(err)
	}
	var run Run
	if err := run.Reset(lease, 8, 2); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]uint64{{11, 0}, {0, 11}, {10, 1}, {5, 6}, {1, 1<<64 - 1}, {1<<64 - 1, 1}} {
		if err := run.Reset(lease, c[0], c[1]); !errors.Is(err, ErrLeaseRange) {
			t.Errorf("%d names from %d: %v", c[1], c[0], err)
		}
	}
	want, err := lease.Name(8)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := run.Name(); err != nil || got != want {
		t.Errorf("what was refused changed the run: %s, %v, want %s", got, err, want)
	}
	for _, format := range []string{"%v", "%+v", "%x", "%s"} {
		if got := fmt.Sprintf(format, &run); got != "run of 1 names" {
			t.Errorf("%s prints %s", format, got)
		}
	}
	if _, err := new(Run).Name(); !errors.Is(err, ErrLeaseRange) {
		t.Errorf("the zero Run: %v", err)
	}
}

func TestRunAllocatesNothing(t *testing.T) {
	lease, err := NewLease(Terms{Class: ClassH, Identity: NewIdentity([32]byte{}, [32]byte{}, [16]byte{1}), Count: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var run Run
	if err := run.Reset(lease, 0, lease.Count()); err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, 0, Length)
	if allocs := testing.AllocsPerRun(10_000, func() {
		if dst, err = run.AppendName(dst[:0]); err != nil {
			t.Fatal(err)
		}
	}); allocs != 0 {
		t.Errorf("%v allocations a name", allocs)
	}
}
