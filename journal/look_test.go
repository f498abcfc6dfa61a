package journal_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
)

// TestRead looks at the counter between claims: that costs nothing, and shows
// that it went back as a claim does.
func TestRead(t *testing.T) {
	for _, class := range []keygen.Class{keygen.ClassH, keygen.ClassV} {
		m, tpm := storetest.NewMemory(), newTPM()
		d := started(t, m, class, tpm)
		d.claim(t)
		tpm.value += 5 // somebody else's
		before := tpm.state
		if value, err := d.counter.Read(t.Context()); err != nil || value != before.value || tpm.state != before {
			t.Errorf("class %s: read %d, %v, want %d", class, value, err, before.value)
		}
		tpm.down = errTPM
		if _, err := d.counter.Read(t.Context()); !errors.Is(err, errTPM) || errors.Is(err, journal.ErrRolledBack) {
			t.Errorf("class %s: %v, want no answer", class, err)
		}
		tpm.down = nil
		tpm.value = 1
		for range 2 {
			if _, err := d.counter.Read(t.Context()); !errors.Is(err, journal.ErrRolledBack) {
				t.Errorf("class %s: %v, want ErrRolledBack", class, err)
			}
		}
		if _, err := d.counter.Next(t.Context()); !errors.Is(err, journal.ErrRolledBack) {
			t.Errorf("class %s: %v, want ErrRolledBack", class, err)
		}
		if got := whats(t, d.journal); !slices.Equal(got, []journal.What{journal.WhatTPM}) {
			t.Errorf("class %s: recorded %v", class, got)
		}
		if again := started(t, m.Restart(), class, tpm); again.class != keygen.ClassV {
			t.Errorf("class %s became %s", class, again.class)
		}
	}
	d := started(t, storetest.NewMemory(), keygen.ClassJ, nil)
	if value, err := d.counter.Read(t.Context()); err != nil || value != 0 {
		t.Errorf("class j: %d, %v", value, err)
	}
}

func TestEKTemplate(t *testing.T) {
	m := storetest.NewMemory()
	want := func(want string) {
		t.Helper()
		m = m.Restart()
		j, err := journal.Open(t.Context(), m, testClock)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := j.EKTemplate(t.Context()); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	keep := func(template string) error {
		t.Helper()
		j, err := journal.Open(t.Context(), m, testClock)
		if err != nil {
			t.Fatal(err)
		}
		return j.KeepEKTemplate(t.Context(), template)
	}
	want("")
	for _, template := range []string{"ecc-p256", "rsa-2048", "rsa-2048"} {
		if err := keep(template); err != nil {
			t.Error(err)
		}
		want(template)
	}
	for _, template := range []string{"", "ECC", "a b", strings.Repeat("x", 33)} {
		if keep(template) == nil {
			t.Errorf("%q was kept", template)
		}
	}
	want("rsa-2048")
	write := []store.Write{{Key: []byte("ek-template"), Value: []byte("{}")}}
	if err := m.Commit(t.Context(), nil, write); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(t.Context(), m, testClock)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.EKTemplate(t.Context()); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("%v, want ErrDamaged", err)
	}
}
