package journal_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store/storetest"
)

// TestConcurrentClaims claims from two counters of one process, while something
// else is recorded.
func TestConcurrentClaims(t *testing.T) {
	for _, class := range classes {
		m, tpm := storetest.NewMemory(), newTPM()
		d := started(t, m, class, tpm)
		c, err := d.journal.Counter(journal.CounterConfig{
			Class: class, Standing: d.standing, Minter: drawMinter(), Reason: "renew",
		})
		if err != nil {
			t.Fatal(err)
		}
		epochs := concurrently(t, []keygen.Counter{d.counter, c}, func() error {
			return d.journal.Record(t.Context(), journal.WhatClock, 1, 2)
		})
		checkDistinct(t, class, epochs)
		if got := whats(t, d.journal); slices.Contains(got, journal.WhatTPM) || slices.Contains(got, journal.WhatJournal) {
			t.Errorf("class %s: rollbacks %v", class, got)
		}
	}
}

// TestTwoProcessesOnOneStore is two hosts, or two daemons with a TPM in common,
// that keep one journal outside the machine.
func TestTwoProcessesOnOneStore(t *testing.T) {
	for _, class := range []keygen.Class{keygen.ClassV, keygen.ClassJ} {
		m := storetest.NewMemory()
		a, b := started(t, m, class, newTPM()), started(t, m, class, newTPM())
		checkDistinct(t, class, concurrently(t, []keygen.Counter{a.counter, b.counter}, func() error { return nil }))
		if got := whats(t, a.journal); got != nil {
			t.Errorf("class %s: rollbacks %v", class, got)
		}
	}
}

// concurrently returns what 4 goroutines claim from each counter.
func concurrently(t *testing.T, counters []keygen.Counter, beside func() error) []uint64 {
	t.Helper()
	const goroutines, each = 4, 25
	claimed := make(chan uint64, len(counters)*goroutines*each)
	var wg sync.WaitGroup
	for _, c := range counters {
		for range goroutines {
			wg.Go(func() {
				for range each {
					epoch, err := c.Next(t.Context())
					if err = errors.Join(err, beside()); err != nil {
						t.Error(err)
						return
					}
					claimed <- epoch
				}
			})
		}
	}
	wg.Wait()
	close(claimed)
	var epochs []uint64
	for epoch := range claimed {
		epochs = append(epochs, epoch)
	}
	return epochs
}

func checkDistinct(t *testing.T, class keygen.Class, epochs []uint64) {
	t.Helper()
	if slices.Sort(epochs); len(epochs) != 200 || len(slices.Compact(epochs)) != 200 {
		t.Errorf("class %s: epochs %v are not 200 distinct ones", class, epochs)
	}
}
