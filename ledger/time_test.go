package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/opmint/opmint/ledger"
)

const year = 365 * 24 * time.Hour

// TestClockAcrossRestart: whatever the wall clock does, while the ledger is open or
// closed, nothing is purged early; a stop counts as an hour at most.
func TestClockAcrossRestart(t *testing.T) {
	for _, wrong := range []time.Duration{-30 * year, -time.Hour, 0, time.Hour, 30 * year} {
		for _, when := range []string{"open", "closed"} {
			t.Run(fmt.Sprint(wrong, " while ", when), func(t *testing.T) {
				r := newRig(t)
				name := mint("a", 1, 1)
				run(t, r.As(1), name)
				begin(t, r.As(1), "running", "h")
				r.clock.set(wrong)
				if when == "closed" {
					r.restart()
				}
				// An hour of them is the most that a wrong clock can have added.
				r.pass(191*time.Hour - time.Second)
				if op, err := r.As(1).Begin(t.Context(), ref(name), attempt("x")); err != nil || !op.Replayed {
					t.Errorf("before the horizon: %+v, %v", op, err)
				}
				r.clock.set(-wrong)
				r.restart()
				r.pass(time.Hour + 2*time.Second)
				_, err := r.As(1).Begin(t.Context(), ref(name), attempt("x"))
				want(t, "after the horizon", err, ledger.ErrExpired)
				rebuilt(t, r.store)
			})
		}
	}
}

// TestLeaseAcrossWrongClock: a lease does not end because the clock is set, and does
// end in time whatever it is set to.
func TestLeaseAcrossWrongClock(t *testing.T) {
	for _, wrong := range []time.Duration{-30 * year, -time.Hour, 30 * year} {
		r := newRig(t)
		op := begin(t, r.As(1), "x", "h")
		r.clock.set(wrong)
		_, err := r.As(1).Begin(t.Context(), ref("x"), attempt("other"))
		want(t, "the clock is set", err, ledger.ErrInProgress)
		if wrong < 0 {
			r.restart()
			_, err := r.As(1).Begin(t.Context(), ref("x"), attempt("other"))
			want(t, "the clock is set back over a restart", err, ledger.ErrInProgress)
		}
		r.pass(31 * time.Second)
		_, err = r.As(1).Begin(t.Context(), ref("x"), attempt("other"))
		want(t, "the lease is over", err, ledger.ErrOutcomeUnknown)
		finish(t, r.As(1), op, ledger.Applied)
	}
}

// TestManyStops: each stop counts as an hour at most, and one of less as what it is.
func TestManyStops(t *testing.T) {
	r := newRig(t)
	before := r.Now()
	for range 10 {
		r.clock.set(30 * year)
		r.restart()
		r.work()
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		r.clock.set(-30 * year)
		r.restart()
	}
	r.clock.set(time.Minute)
	if got := time.Duration(r.Now()-before) * time.Millisecond; got != 10*time.Hour {
		t.Errorf("ten stops of 30 years count as %v", got)
	}
}

// TestTimeIsKept: of the time that passed while the ledger was idle a crash takes no
// more than what Step had not written down, even if the clock goes back.
func TestTimeIsKept(t *testing.T) {
	r := newRig(t)
	run(t, r.As(1), "x")
	before := r.Now()
	for range 100 * 60 {
		r.pass(time.Minute)
	}
	r.clock.set(-30 * year)
	r.store = r.store.Crash()
	r.open()
	if got := time.Duration(r.Now()-before) * time.Millisecond; got < 100*time.Hour-10*time.Minute || got > 100*time.Hour {
		t.Errorf("of 100h %v are left", got)
	}
}

// TestTimesAreTheWallClocks: what people see is by their clock, whatever the ledger's
// time is.
func TestTimesAreTheWallClocks(t *testing.T) {
	r := newRig(t)
	r.clock.set(2 * year)
	r.restart()
	op := begin(t, r.As(1), "x", "h")
	now := r.clock.Wall()
	if !op.Began.Equal(now) || !op.LeaseExpires.Equal(now.Add(30*time.Second)) || !op.Ended.IsZero() {
		t.Errorf("at %v: %+v", now, op)
	}
	r.clock.pass(time.Second)
	finish(t, r.As(1), op, ledger.Applied)
	got, err := r.As(1).Lookup(t.Context(), ref("x"))
	if err != nil || !got.Began.Equal(now) || !got.Ended.Equal(now.Add(time.Second)) || !got.LeaseExpires.IsZero() {
		t.Errorf("at the end %+v, %v", got, err)
	}
}
