package journal_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store/storetest"
)

// TestKeep: what is due is forgotten while time goes by, and when it ends, it says
// how far the time was.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, began := storetest.NewMemory(), time.Now()
		open := func() *journal.Intents {
			t.Helper()
			j, err := journal.Open(t.Context(), s, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			c, err := j.Counter(journal.CounterConfig{Class: keygen.ClassJ, Minter: drawMinter(), Reason: "start"})
			if err != nil {
				t.Fatal(err)
			}
			m, err := keygen.NewMinter(t.Context(), keygen.MinterConfig{
				Class: keygen.ClassJ, Identity: c.Identity(), Counter: c,
			})
			if err != nil {
				t.Fatal(err)
			}
			in, err := j.Intents(t.Context(), journal.IntentsConfig{
				Minter: m, Horizon: horizon, MaxIntents: 2000, MaxStreams: 1,
				Boot: func() time.Duration { return time.Since(began) },
			})
			if err != nil {
				t.Fatal(err)
			}
			return in
		}
		in := open()
		for i := range 1000 {
			ask := journal.Ask{Intent: string(rune('a' + i)), Retain: time.Duration(1+i/500) * time.Hour}
			if _, err := in.Name(t.Context(), 1, ask); err != nil {
				t.Fatal(err)
			}
		}
		ctx, end := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- in.Keep(ctx) }()
		for hours, want := range []int{1001, 501, 0} { // and how many there are
			time.Sleep(time.Duration(hours)*time.Hour + time.Minute - time.Since(began))
			synctest.Wait()
			if got := len(records(t, s, "i/")); got != want {
				t.Errorf("%d are left after %d hours, want %d", got, hours, want)
			}
		}
		time.Sleep(6*time.Minute + 7*time.Second) // between two steps
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
		left := 12*time.Hour - time.Since(began) // of tombstones of an hour
		s = s.Restart()
		in = open()
		if _, err := in.Get(t.Context(), 1, "a"); !errors.Is(err, journal.ErrExpired) {
			t.Error(err)
		}
		time.Sleep(left - time.Hour)
		if _, err := in.Get(t.Context(), 1, "a"); !errors.Is(err, journal.ErrUnknown) {
			t.Error(err)
		}
	})
}

// TestKeepFails: with the store, and says so.
func TestKeepFails(t *testing.T) {
	for _, fault := range storetest.Faults {
		s := storetest.NewMemory()
		m := remembering(t, s, newClocks())
		s.Fail(1, fault)
		if err := m.Keep(t.Context()); !errors.Is(err, storetest.ErrFault) {
			t.Errorf("%s: %v", fault, err)
		}
	}
}

// TestForgettingFails lets each write of it fail in each way: nothing is forgotten
// in part.
func TestForgettingFails(t *testing.T) {
	for _, fault := range storetest.Faults {
		for n := 1; n <= 3; n++ {
			s, c := storetest.NewMemory(), newClocks()
			m := remembering(t, s, c)
			m.forget(t)
			clean := len(records(t, s, ""))
			for i := range 300 {
				m.name(t, string(rune('a'+i)))
				m.number(t, string(rune('a'+i)))
			}
			if err := m.Acked(t.Context(), 1, "s", 300); err != nil {
				t.Fatal(err)
			}
			c.pass(horizon)
			s.Fail(n, fault)
			var err error
			for wait := time.Duration(0); wait == 0 && err == nil; {
				wait, err = m.KeepStep(t.Context())
			}
			if !errors.Is(err, storetest.ErrFault) {
				t.Fatalf("%s of write %d: %v", fault, n, err)
			}
			s = s.Crash()
			m = remembering(t, s, c)
			for range 20 {
				m.forget(t)
				c.pass(journal.DefaultRetain)
			}
			// The epoch of the second start, its slot, and the highest edition.
			if got := records(t, s, ""); len(got) != clean+3 {
				t.Errorf("%s of write %d: left behind: %q", fault, n, got)
			}
		}
	}
}
