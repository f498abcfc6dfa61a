package main

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestTwoIndexes has two daemons with different indexes on one TPM.
func TestTwoIndexes(t *testing.T) {
	a := newRig(t)
	b := a.another()
	mintTogether(t, a.start("--names-per-epoch", "10"), b.start("--names-per-epoch", "10", "--nv-index", "0x01901d02"))
}

// TestOneIndex has two daemons on one index, which opens with the same secret.
func TestOneIndex(t *testing.T) {
	a := newRig(t)
	first := a.start("--names-per-epoch", "10")
	b := a.another()
	b.copyFile(a, "index.auth")
	mintTogether(t, first, b.start("--names-per-epoch", "10"))
}

// TestOneIdentity has two daemons on one index and with the same minter: one state
// folder is a copy of the other.
func TestOneIdentity(t *testing.T) {
	a := newRig(t)
	first := a.start("--names-per-epoch", "10")
	b := a.another()
	b.copyState(a)
	second := b.start("--names-per-epoch", "10")
	if one, other := first.identity().Identity, second.identity().Identity; one != other {
		t.Errorf("the identities are %s and %s", one, other)
	}
	mintTogether(t, first, second)
}

// mintTogether mints with all daemons at once, each in many epochs.
func mintTogether(t *testing.T, all ...*process) {
	t.Helper()
	minted := newRecord(t)
	var wait sync.WaitGroup
	for _, p := range all {
		wait.Go(func() {
			for range 50 {
				names, err := p.tryMint(25)
				if err != nil {
					t.Error(err)
				}
				minted.add(names...)
			}
		})
	}
	wait.Wait()
	if want := len(all) * 50 * 25; len(minted.seen) != want {
		t.Errorf("%d names, want %d", len(minted.seen), want)
	}
}

// copyFile copies a file of another's state folder.
func (r *rig) copyFile(from *rig, name string) {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(from.state, name))
	if err != nil {
		r.t.Fatal(err)
	}
	writeFile(r.t, filepath.Join(r.state, name), data)
}

// copyState copies another's state folder.
func (r *rig) copyState(from *rig) {
	r.t.Helper()
	if err := os.RemoveAll(r.state); err != nil {
		r.t.Fatal(err)
	}
	files, err := os.ReadDir(from.state)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range files {
		r.copyFile(from, f.Name())
	}
}
