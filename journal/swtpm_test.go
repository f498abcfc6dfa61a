package journal_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store/storetest"
	"github.com/opmint/opmint/swtpm"
	"github.com/opmint/opmint/tpm"
)

// TestOnASoftwareTPM rewinds a TPM under a running daemon, which goes on in class
// v, and rewinds the state folder after that.
func TestOnASoftwareTPM(t *testing.T) {
	chip, m := swtpm.StartTest(t), storetest.NewMemory()
	device, err := tpm.Open(chip.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := device.Close(); err != nil {
			t.Error(err)
		}
	})
	config := tpm.CounterConfig{Device: device, StateDir: t.TempDir()}
	counter, err := tpm.NewCounter(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := counter.Define(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := startedOn(t, m, keygen.ClassH, config)
	then, older := filepath.Join(t.TempDir(), "then"), m.Clone()
	if err := chip.Snapshot(then); err != nil {
		t.Fatal(err)
	}
	highest := uint64(0)
	for range 3 {
		highest = h.claim(t)
	}
	if err := chip.Rewind(then); err != nil {
		t.Fatal(err)
	}
	if _, err := h.counter.Next(t.Context()); !errors.Is(err, tpm.ErrWentBack) {
		t.Errorf("%v, want ErrWentBack", err)
	}
	v := startedOn(t, m.Crash(), keygen.ClassH, config)
	if epoch := v.claim(t); v.class != keygen.ClassV || epoch <= highest {
		t.Errorf("class %s, epoch %d after %d", v.class, epoch, highest)
	}
	if got := whats(t, v.journal); !slices.Equal(got, []journal.What{journal.WhatTPM}) {
		t.Errorf("rollbacks %v", got)
	}
	back := startedOn(t, older, keygen.ClassV, config)
	if got := whats(t, back.journal); !slices.Equal(got, []journal.What{journal.WhatJournal}) {
		t.Errorf("rollbacks %v of a journal that went back", got)
	}
}

// startedOn is started on a real counter.
func startedOn(t *testing.T, m *storetest.Memory, class keygen.Class, config tpm.CounterConfig) *daemon {
	t.Helper()
	counter, err := tpm.NewCounter(config)
	if err != nil {
		t.Fatal(err)
	}
	d, err := start(t.Context(), m, class, counter)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The other end of the interface.
var _ journal.TPM = (*tpm.Counter)(nil)
