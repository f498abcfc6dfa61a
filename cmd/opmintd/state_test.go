package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-tpm/tpm2"
)

// TestStateFolder looks at what a start has made.
func TestStateFolder(t *testing.T) {
	r := newRig(t)
	r.state = filepath.Join(t.TempDir(), "a", "b")
	p := r.start()
	for name, want := range map[string]fs.FileMode{
		".": fs.ModeDir | 0o700, "..": fs.ModeDir | 0o700,
		"lock": 0o600, "journal": 0o600, "journal.created": 0o600, "index.auth": 0o600, "index.incarnation": 0o600,
		"ledger": 0o600, "ledger.created": 0o600, "ledger.log": 0o600,
	} {
		if info, err := os.Stat(filepath.Join(r.state, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want mode %v", name, info, err, want)
		}
	}
	p.stop()
	if files, err := os.ReadDir(r.state); err != nil || len(files) != 8 {
		t.Errorf("the state folder has %v, %v", files, err)
	}
}

// TestSameIdentity has the same identity after each restart, under new epochs.
func TestSameIdentity(t *testing.T) {
	r := newRig(t)
	p := r.start()
	first := p.identity()
	p.stop()
	p = r.start()
	second := p.identity()
	if first.Epoch != 2 || second.Epoch != 3 {
		t.Errorf("the epochs are %d and %d, want 2 and 3", first.Epoch, second.Epoch)
	}
	second.Epoch, second.Counter = first.Epoch, first.Counter
	if !reflect.DeepEqual(first, second) {
		t.Errorf("%+v became %+v", first, second)
	}
}

// TestStateLost loses the state folder and keeps the TPM.
func TestStateLost(t *testing.T) {
	r := newRig(t)
	minted := newRecord(t)
	p := r.start()
	minted.add(p.mint(10)...)
	p.stop()
	used := r.value()
	lost := r.another()
	lost.refused(exitRefused, "`opmint provision --new-index`")
	if v := r.value(); v != used {
		t.Errorf("it cost %d writes", v-used)
	}
	// Only what opens the index came back: another minter, so another identity.
	lost.copyFile(r, "index.auth")
	p = lost.start()
	minted.add(p.mint(10)...)
}

// TestStateRestored puts back a copy of the state folder.
func TestStateRestored(t *testing.T) {
	r := newRig(t)
	minted := newRecord(t)
	p := r.start()
	minted.add(p.mint(10)...)
	p.stop()
	copied := r.another()
	copied.copyState(r)
	for range 3 {
		p = r.start()
		minted.add(p.mint(1000)...)
		if _, err := p.client.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		minted.add(p.mint(1000)...)
		p.stop()
		r.copyState(copied)
	}
}

// TestClear clears the TPM between two starts.
func TestClear(t *testing.T) {
	r := newRig(t)
	p := r.start()
	minted := newRecord(t)
	minted.add(p.mint(10)...)
	before := p.identity()
	p.stop()
	ask(r, tpm2.Clear{AuthHandle: tpm2.AuthHandle{Handle: tpm2.TPMRHLockout, Auth: tpm2.PasswordAuth(nil)}})
	p = r.start()
	minted.add(p.mint(10)...)
	after := p.identity()
	if after.Incarnation == before.Incarnation || after.Identity == before.Identity {
		t.Errorf("%+v became %+v", before, after)
	}
	if after.Epoch != before.Epoch+2 {
		t.Errorf("epoch %d became %d: a new counter goes on above the highest that there was", before.Epoch, after.Epoch)
	}
}
