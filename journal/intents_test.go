package journal_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
)

// TestIntentKeepsItsName: before and after restarts.
func TestIntentKeepsItsName(t *testing.T) {
	s, c := storetest.NewMemory(), newClocks()
	m := remembering(t, s, c)
	first := m.name(t, "charge order 7")
	want := journal.Intent{
		Intent: "charge order 7", Name: first.Name,
		Created: testTime, Expires: testTime.Add(journal.DefaultRetain), Since: testTime,
	}
	if first != want || first.Name.Class() != keygen.ClassJ {
		t.Errorf("%+v, want %+v", first, want)
	}
	want.Replayed = true
	for range 3 {
		c.pass(time.Hour)
		if got := m.name(t, "charge order 7"); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if got, err := m.Get(t.Context(), 1, "charge order 7"); err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		s = s.Restart()
		m = remembering(t, s, c)
	}
	if m.minter.leases.Load() != 0 {
		t.Errorf("%d names were minted for an intent that is known", m.minter.leases.Load())
	}
	other, err := m.Name(t.Context(), 2, journal.Ask{Intent: "charge order 7"})
	if err != nil || other.Replayed || other.Name == first.Name {
		t.Errorf("another user's: %+v, %v", other, err)
	}
	if _, err := m.Get(t.Context(), 3, "charge order 7"); !errors.Is(err, journal.ErrUnknown) {
		t.Errorf("of a user who has none: %v", err)
	}
}

// TestFingerprints: none is one of its own, and a mismatch changes nothing.
func TestFingerprints(t *testing.T) {
	s := storetest.NewMemory()
	m := remembering(t, s, newClocks())
	prints := []journal.Fingerprint{{}, fingerprint("10 EUR"), fingerprint("11 EUR"), {Known: true}}
	for i, known := range prints {
		intent := strings.Repeat("i", i+1)
		first, err := m.Name(t.Context(), 1, journal.Ask{Intent: intent, Fingerprint: known})
		if err != nil || first.Replayed {
			t.Fatal(first, err)
		}
		before := s.Commits()
		for _, asked := range prints {
			got, err := m.Name(t.Context(), 1, journal.Ask{Intent: intent, Fingerprint: asked})
			switch {
			case asked == known && (err != nil || got.Name != first.Name || got.Fingerprint != known):
				t.Errorf("asked with %v: %+v, %v", asked, got, err)
			case asked != known && (!errors.Is(err, journal.ErrMismatch) ||
				!strings.Contains(err.Error(), known.String()) || !strings.Contains(err.Error(), asked.String())):
				t.Errorf("known with %v, asked with %v: %v", known, asked, err)
			}
		}
		if s.Commits() != before {
			t.Error("something was written")
		}
	}
}

func TestRetain(t *testing.T) {
	m := remembering(t, storetest.NewMemory(), newClocks())
	for _, retain := range []time.Duration{-1, time.Millisecond - 1, horizon + 1} {
		if _, err := m.Name(t.Context(), 1, journal.Ask{Intent: "i", Retain: retain}); !errors.Is(err, keygen.ErrInvalid) {
			t.Errorf("%v: %v", retain, err)
		}
	}
	for _, retain := range []time.Duration{time.Millisecond, time.Hour, horizon} {
		got, err := m.Name(t.Context(), 1, journal.Ask{Intent: retain.String(), Retain: retain})
		if err != nil || got.Expires.Sub(got.Created) != retain {
			t.Errorf("%v: %+v, %v", retain, got, err)
		}
	}
}

// TestForgotten: an intent is forgotten when its time is over, whether a step has
// cleared it away or not; its tombstone stands ten times as long.
func TestForgotten(t *testing.T) {
	for _, cleared := range []bool{false, true} {
		s, c := storetest.NewMemory(), newClocks()
		m := remembering(t, s, c)
		m.forget(t)
		before := len(records(t, s, ""))
		first := m.name(t, "i")
		c.pass(journal.DefaultRetain - time.Millisecond)
		m.forget(t)
		if got := m.name(t, "i"); got.Name != first.Name {
			t.Fatal("forgotten too early")
		}
		expired := func(when string) {
			t.Helper()
			_, nameErr := m.Name(t.Context(), 1, journal.Ask{Intent: "i"})
			_, getErr := m.Get(t.Context(), 1, "i")
			for _, err := range []error{nameErr, getErr, m.Delete(t.Context(), 1, "i")} {
				if !errors.Is(err, journal.ErrExpired) {
					t.Errorf("cleared %v, %s: %v", cleared, when, err)
				}
			}
			if cleared {
				m.forget(t)
			}
		}
		c.pass(time.Millisecond)
		expired("when its time is over")
		expired("once more")
		c.pass(10*journal.DefaultRetain - time.Millisecond)
		if !cleared {
			continue
		}
		expired("when its tombstone still stands")
		c.pass(time.Millisecond)
		m.forget(t)
		if got := records(t, s, ""); len(got) != before {
			t.Errorf("left behind: %q", got)
		}
		if got := m.name(t, "i"); got.Replayed || got.Name == first.Name {
			t.Errorf("after its tombstone: %+v", got)
		}
	}
}

func TestDeleted(t *testing.T) {
	s, c := storetest.NewMemory(), newClocks()
	m := remembering(t, s, c)
	before := records(t, s, "")
	first := m.name(t, "i")
	if err := m.Delete(t.Context(), 2, "i"); !errors.Is(err, journal.ErrUnknown) {
		t.Errorf("of another user: %v", err)
	}
	if err := m.Delete(t.Context(), 1, "i"); err != nil {
		t.Fatal(err)
	}
	if got := records(t, s, ""); len(got) != len(before) {
		t.Errorf("left behind: %q", got)
	}
	if err := m.Delete(t.Context(), 1, "i"); !errors.Is(err, journal.ErrUnknown) {
		t.Errorf("again: %v", err)
	}
	if got := m.name(t, "i"); got.Replayed || got.Name == first.Name {
		t.Errorf("named anew: %+v", got)
	}
}

// TestTimeOfTheJournal: it goes on with the boot-time clock, and across a stop with
// the wall clock, but an hour at most.
func TestTimeOfTheJournal(t *testing.T) {
	for _, stop := range []struct{ wall, counts time.Duration }{
		{-1000 * time.Hour, 0}, {0, 0}, {time.Minute, time.Minute}, {time.Hour, time.Hour}, {1e6 * time.Hour, time.Hour},
	} {
		s, c := storetest.NewMemory(), newClocks()
		m := remembering(t, s, c)
		if _, err := m.Name(t.Context(), 1, journal.Ask{Intent: "i", Retain: 10 * time.Hour}); err != nil {
			t.Fatal(err)
		}
		c.boot.Add(int64(3 * time.Hour))
		c.wall.Store(time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()) // is no matter while it runs
		m.forget(t)
		s = s.Restart()
		c.boot.Store(int64(time.Second)) // the machine has started
		c.wall.Add(stop.wall.Milliseconds())
		m = remembering(t, s, c)
		c.boot.Add(int64(7*time.Hour - stop.counts - time.Millisecond))
		if _, err := m.Get(t.Context(), 1, "i"); err != nil {
			t.Errorf("a stop of %v by the wall clock: %v", stop.wall, err)
		}
		c.boot.Add(int64(time.Millisecond))
		if _, err := m.Get(t.Context(), 1, "i"); !errors.Is(err, journal.ErrExpired) {
			t.Errorf("a stop of %v by the wall clock: %v", stop.wall, err)
		}
	}
}

func TestQuotas(t *testing.T) {
	m := remembering(t, storetest.NewMemory(), newClocks())
	m.MaxIntents, m.MaxStreams = 3, 2
	m.name(t, "1")
	m.name(t, "2")
	m.number(t, "3")
	minted := m.minter.leases.Load()
	if _, err := m.Name(t.Context(), 1, journal.Ask{Intent: "4"}); !errors.Is(err, journal.ErrQuota) {
		t.Error(err)
	}
	if _, err := m.Number(t.Context(), 1, "s", "4"); !errors.Is(err, journal.ErrQuota) {
		t.Error(err)
	}
	if m.minter.leases.Load() != minted {
		t.Errorf("%d names were minted", m.minter.leases.Load()-minted)
	}
	if _, err := m.Name(t.Context(), 2, journal.Ask{Intent: "4"}); err != nil {
		t.Errorf("another user: %v", err)
	}
	if err := m.Delete(t.Context(), 1, "1"); err != nil {
		t.Fatal(err)
	}
	m.name(t, "4")
	if _, err := m.NewEdition(t.Context(), 1, "t", keygen.Edition{}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.NewEdition(t.Context(), 1, "u", keygen.Edition{}); !errors.Is(err, journal.ErrQuota) {
		t.Error(err)
	}
}

// TestStoreFailsWhileNaming lets each write fail in each way: the caller gets an error, and
// asking again, after a restart where it must be, gets the one name.
func TestStoreFailsWhileNaming(t *testing.T) {
	for _, fault := range storetest.Faults {
		for ending, end := range endings {
			s, c := storetest.NewMemory(), newClocks()
			m := remembering(t, s, c)
			s.Fail(1, fault)
			_, err := m.Name(t.Context(), 1, journal.Ask{Intent: "i"})
			if !errors.Is(err, storetest.ErrFault) {
				t.Fatalf("%s: %v", fault, err)
			}
			if errors.Is(err, store.ErrOutcomeUnknown) {
				s = end(s)
				m = remembering(t, s, c)
			}
			first := m.name(t, "i")
			m = remembering(t, end(s), c)
			if got := m.name(t, "i"); !got.Replayed || got.Name != first.Name {
				t.Errorf("%s, %s: %+v, then %+v", fault, ending, first, got)
			}
		}
	}
}
