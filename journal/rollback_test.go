package journal_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"testing"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
)

// backError is how a TPM says by itself that it went back.
type backError struct{ expected, seen uint64 }

func (backError) Error() string                       { return "the counter went back" }
func (e backError) WentBack() (expected, seen uint64) { return e.expected, e.seen }

// waysBack take a counter back, each noticed in another way.
var waysBack = map[string]func(*fakeTPM) (expected, seen uint64){
	"seen by the value claimed": func(f *fakeTPM) (uint64, uint64) {
		f.value -= 3
		return f.value + 4, f.value + 1
	},
	"seen by the same value": func(f *fakeTPM) (uint64, uint64) {
		f.value--
		return f.value + 2, f.value + 1
	},
	"said by the TPM": func(f *fakeTPM) (uint64, uint64) {
		expected := f.value
		f.value -= 3
		f.fault = func(s *state) (uint64, error) { return 0, backError{expected, s.value} }
		return expected, f.value
	},
}

// TestTPMGoesBackUnderARunningDaemon goes on as a daemon does.
func TestTPMGoesBackUnderARunningDaemon(t *testing.T) {
	for name, goBack := range waysBack {
		for _, class := range []keygen.Class{keygen.ClassH, keygen.ClassV} {
			t.Run(name+", class "+class.String(), func(t *testing.T) {
				m, tpm := storetest.NewMemory(), newTPM()
				d := started(t, m, class, tpm)
				second, err := d.journal.Counter(journal.CounterConfig{
					Class: class, Standing: d.standing, Minter: drawMinter(), Reason: "renew",
				})
				if err != nil {
					t.Fatal(err)
				}
				highest := uint64(0)
				for range 5 {
					highest = d.claim(t)
				}
				expected, seen := goBack(tpm)
				for _, c := range []keygen.Counter{d.counter, second, d.counter} {
					if _, err := c.Next(t.Context()); !errors.Is(err, journal.ErrRolledBack) {
						t.Errorf("%v, want ErrRolledBack", err)
					}
				}
				want := []journal.Rollback{{Time: testTime, What: journal.WhatTPM, Seen: seen, Expected: expected}}
				checkGoesOnInV(t, m, class, tpm, want, highest)
				checkGoesOnInV(t, m.Crash(), class, tpm, want, highest+1)
			})
		}
	}
}

// checkGoesOnInV starts on s after a rollback, and claims an epoch above highest.
func checkGoesOnInV(
	t *testing.T, s store.Store, class keygen.Class, tpm *fakeTPM, want []journal.Rollback, highest uint64,
) {
	t.Helper()
	d := started(t, s, class, tpm)
	if !d.standing.Demoted || d.class != keygen.ClassV || !d.standing.Rollback.IsZero() {
		t.Errorf("demoted %v, class %s, %v", d.standing.Demoted, d.class, d.standing.Rollback)
	}
	if epoch := d.claim(t); epoch <= highest {
		t.Errorf("epoch %d after %d", epoch, highest)
	}
	got, err := d.journal.Rollbacks(t.Context())
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("rollbacks %v, %v, want %v", got, err, want)
	}
	if _, err := d.journal.Counter(journal.CounterConfig{
		Class: keygen.ClassH, Standing: d.standing, Minter: drawMinter(), Reason: "start",
	}); !errors.Is(err, journal.ErrRolledBack) {
		t.Errorf("a counter of class h: %v, want ErrRolledBack", err)
	}
}

// TestDemotedElsewhere claims in class h by a Standing from before the demotion.
func TestDemotedElsewhere(t *testing.T) {
	m, tpm := storetest.NewMemory(), newTPMAt(5)
	before := started(t, m, keygen.ClassH, tpm)
	tpm.value = 4
	if d := started(t, m, keygen.ClassH, tpm); d.class != keygen.ClassV {
		t.Fatalf("class %s", d.class)
	}
	if _, err := before.counter.Next(t.Context()); !errors.Is(err, journal.ErrRolledBack) {
		t.Errorf("%v, want ErrRolledBack", err)
	}
}

// TestGoesBackAfterAFailedClaim is noticed by reading the counter, or said by the
// TPM then.
func TestGoesBackAfterAFailedClaim(t *testing.T) {
	for _, says := range []bool{false, true} {
		m, tpm := storetest.NewMemory(), newTPMAt(10)
		d := started(t, m, keygen.ClassH, tpm)
		tpm.fault = loses(1)
		if _, err := d.counter.Next(t.Context()); !errors.Is(err, errTPM) {
			t.Fatal(err)
		}
		tpm.value = 7
		if says {
			tpm.down = backError{11, 7}
		}
		if _, err := d.counter.Next(t.Context()); !errors.Is(err, journal.ErrRolledBack) {
			t.Errorf("%v, want ErrRolledBack", err)
		}
		if got := whats(t, d.journal); !slices.Equal(got, []journal.What{journal.WhatTPM}) {
			t.Errorf("rollbacks %v", got)
		}
	}
}

// TestCallerGoesAwayWhenTheTPMGoesBack records it all the same.
func TestCallerGoesAwayWhenTheTPMGoesBack(t *testing.T) {
	tpm := newTPMAt(10)
	d := started(t, storetest.NewMemory(), keygen.ClassH, tpm)
	ctx, cancel := context.WithCancel(t.Context())
	tpm.fault = func(s *state) (uint64, error) {
		cancel()
		s.value = 5
		return s.value, nil
	}
	if _, err := d.counter.Next(ctx); !errors.Is(err, journal.ErrRolledBack) {
		t.Errorf("%v, want ErrRolledBack", err)
	}
	if got := whats(t, d.journal); !slices.Equal(got, []journal.What{journal.WhatTPM}) {
		t.Errorf("rollbacks %v", got)
	}
}

// TestRollbackThatCannotBeRecorded refuses all the same, and is noticed again.
func TestRollbackThatCannotBeRecorded(t *testing.T) {
	for _, fault := range storetest.Faults {
		m, tpm := storetest.NewMemory(), newTPMAt(10)
		d := started(t, m, keygen.ClassH, tpm)
		tpm.value = 5
		m.Fail(2, fault)
		for range 2 {
			if _, err := d.counter.Next(t.Context()); !errors.Is(err, journal.ErrRolledBack) {
				t.Errorf("%s: %v, want ErrRolledBack", fault, err)
			}
		}
		d = started(t, m.Crash(), keygen.ClassH, tpm)
		if got := whats(t, d.journal); !slices.Equal(got, []journal.What{journal.WhatTPM}) || !d.standing.Demoted {
			t.Errorf("%s: rollbacks %v, demoted %v", fault, got, d.standing.Demoted)
		}
	}
}

// TestChange takes a state folder from board to board.
func TestChange(t *testing.T) {
	m := storetest.NewMemory()
	j, err := journal.Open(t.Context(), m, testClock)
	if err != nil {
		t.Fatal(err)
	}
	board, other := newTPM(), newTPM()
	ek, otherEK, thirdEK := testEK, sha256.Sum256([]byte("another")), sha256.Sum256([]byte("a third"))
	redefined := newTPM()
	for i, step := range []struct {
		tpm  *fakeTPM
		ek   [32]byte
		want journal.Change
	}{
		{board, ek, journal.FirstTPM},
		{board, ek, journal.Unchanged},
		{other, otherEK, journal.OtherTPM},
		{board, ek, journal.Unchanged},
		{redefined, ek, journal.NewIndex},
		{redefined, thirdEK, journal.NewEK},
		{redefined, thirdEK, journal.Unchanged},
	} {
		s, err := j.Compare(t.Context(), step.tpm, step.ek, 0)
		if err != nil {
			t.Fatal(err)
		}
		if s.Change != step.want || s.EK != step.ek || s.Incarnation != step.tpm.incarnation || !s.Rollback.IsZero() {
			t.Errorf("step %d: change %q, want %q; %+v", i, s.Change, step.want, s)
		}
	}
	if got := whats(t, j); got != nil {
		t.Errorf("rollbacks %v", got)
	}
}

// TestDemotionOutlastsANewEK: it is of the counter, not of the key.
func TestDemotionOutlastsANewEK(t *testing.T) {
	m, tpm := storetest.NewMemory(), newTPMAt(5)
	started(t, m, keygen.ClassH, tpm)
	tpm.value = 4
	started(t, m, keygen.ClassH, tpm)
	j, err := journal.Open(t.Context(), m, testClock)
	if err != nil {
		t.Fatal(err)
	}
	s, err := j.Compare(t.Context(), tpm, sha256.Sum256([]byte("another")), 1)
	if err != nil || !s.Demoted || s.Change != journal.NewEK {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestCounterThatTheJournalDoesNotKnow is judged by the value that it had first.
func TestCounterThatTheJournalDoesNotKnow(t *testing.T) {
	for _, test := range []struct {
		value, first uint64
		want         journal.Rollback
	}{
		{7, 0, journal.Rollback{}},
		{7, 7, journal.Rollback{}},
		{8, 7, journal.Rollback{Time: testTime, What: journal.WhatJournal, Seen: 8, Expected: 7}},
		{6, 7, journal.Rollback{Time: testTime, What: journal.WhatTPM, Seen: 6, Expected: 7}},
	} {
		j, err := journal.Open(t.Context(), storetest.NewMemory(), testClock)
		if err != nil {
			t.Fatal(err)
		}
		tpm := newTPMAt(test.value)
		s, err := j.Compare(t.Context(), tpm, testEK, test.first)
		demoted := test.want.What == journal.WhatTPM
		if err != nil || s.Rollback != test.want || s.Demoted != demoted || s.Value != test.value {
			t.Errorf("value %d, first %d: %+v, %v, want %v", test.value, test.first, s, err, test.want)
		}
	}
}
