package storetest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Place {
		m := storetest.NewMemory()
		return func() (store.Store, error) {
			m = m.Restart()
			return m, nil
		}
	})
}

// TestFaults: what is told, and what is found after a restart and after a
// power cut, is as the table of Fault says.
func TestFaults(t *testing.T) {
	for _, test := range []struct {
		fault            storetest.Fault
		want, later      error
		restarted, power string
	}{
		{storetest.Refuse, storetest.ErrFault, nil, "a c", "a c"},
		{storetest.Lose, store.ErrOutcomeUnknown, store.ErrStopped, "a", "a"},
		{storetest.FailSync, store.ErrOutcomeUnknown, store.ErrStopped, "a b", "a"},
		{storetest.KeepButReportLost, store.ErrOutcomeUnknown, store.ErrStopped, "a b", "a b"},
	} {
		t.Run(test.fault.String(), func(t *testing.T) {
			for _, restart := range []bool{true, false} {
				m := storetest.NewMemory()
				m.Fail(2, test.fault)
				commit(t, m, "a", nil)
				commit(t, m, "b", test.want)
				commit(t, m, "c", test.later)
				if _, err := m.Get(t.Context(), []byte("a")); !errors.Is(err, test.later) {
					t.Errorf("Get: %v, want %v", err, test.later)
				}
				next, want := m.Crash, test.power
				if restart {
					next, want = m.Restart, test.restarted
				}
				if got := keys(t, next()); got != want {
					t.Errorf("restart %v: found %q, want %q", restart, got, want)
				}
				if _, err := m.Get(t.Context(), []byte("a")); !errors.Is(err, store.ErrClosed) {
					t.Errorf("Get from the old one: %v, want ErrClosed", err)
				}
			}
		})
	}
}

// TestFaultCounting: only a Commit that comes to writing counts.
func TestFaultCounting(t *testing.T) {
	m := storetest.NewMemory()
	m.Fail(1, storetest.Refuse)
	a, value := []byte("a"), []byte("v")
	if err := m.Commit(t.Context(), []store.Check{{Key: a}}, nil); err != nil {
		t.Errorf("Commit without writes: %v", err)
	}
	err := m.Commit(t.Context(), []store.Check{{Key: a, Value: value}}, []store.Write{{Key: a}})
	if !errors.Is(err, store.ErrConflict) {
		t.Errorf("Commit with a conflict: %v", err)
	}
	if n := m.Commits(); n != 0 {
		t.Errorf("%d Commits, want 0", n)
	}
	if err := m.Commit(t.Context(), nil, []store.Write{{Key: a, Value: value}}); !errors.Is(err, storetest.ErrFault) {
		t.Errorf("Commit: %v, want ErrFault", err)
	}
	if n := m.Commits(); n != 1 {
		t.Errorf("%d Commits, want 1", n)
	}
}

// TestClone: a clone and its original know nothing of each other.
func TestClone(t *testing.T) {
	m := storetest.NewMemory()
	commit(t, m, "a", nil)
	clone := m.Clone()
	commit(t, m, "b", nil)
	commit(t, clone, "c", nil)
	if a, b := keys(t, m), keys(t, clone); a != "a b" || b != "a c" {
		t.Errorf("original %q, clone %q", a, b)
	}
}

// commit fails the test unless a Commit of one record ends as wanted.
func commit(t *testing.T, s store.Store, key string, want error) {
	t.Helper()
	err := s.Commit(t.Context(), nil, []store.Write{{Key: []byte(key), Value: []byte("v")}})
	unknown := errors.Is(err, store.ErrOutcomeUnknown)
	if !errors.Is(err, want) || unknown != (want == store.ErrOutcomeUnknown) {
		t.Errorf("Commit(%s): %v, want %v", key, err, want)
	}
}

func keys(t *testing.T, s store.Store) string {
	t.Helper()
	records, err := s.Scan(t.Context(), nil, nil, store.MaxScan)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, r := range records {
		keys = append(keys, string(r.Key))
	}
	return strings.Join(keys, " ")
}
