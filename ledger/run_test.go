package ledger_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opmint/opmint/ledger"
	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
)

// bubble is the clock of a synctest bubble.
type bubble struct{ began time.Time }

func (b bubble) Boot() time.Duration { return time.Since(b.began) }

func (b bubble) Wall() time.Time { return time.Now() }

// TestRun: leases lapse and what is old goes while nobody asks; trouble is reported, and
// only a store that has stopped ends it.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reports := make(chan error, 10)
		r := &rig{t: t, store: storetest.NewMemory(), config: ledger.Config{
			Clock: bubble{time.Now()}, Horizon: time.Hour, Report: func(err error) { reports <- err },
		}}
		r.open()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		counts := func() ledger.Counts {
			stats, err := r.Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return stats.Counts
		}
		run(t, r.As(1), mint("a", 1, 1))
		begin(t, r.As(1), "lapses", "h")
		time.Sleep(32 * time.Second)
		if got, wanted := counts(), (ledger.Counts{Applied: 1, Unknown: 1, Floors: 1}); got != wanted {
			t.Errorf("%+v, want %+v", got, wanted)
		}
		r.store.Fail(1, storetest.Refuse)
		time.Sleep(time.Hour + time.Minute)
		if got, wanted := counts(), (ledger.Counts{Unknown: 1, Floors: 1}); got != wanted {
			t.Errorf("%+v, want %+v", got, wanted)
		}
		if err := <-reports; !errors.Is(err, storetest.ErrFault) {
			t.Errorf("reported %v", err)
		}
		cancel()
		want(t, "Run", <-ended, context.Canceled)

		go func() { ended <- r.Run(t.Context()) }()
		r.store.Fail(1, storetest.Lose)
		want(t, "Run", <-ended, store.ErrOutcomeUnknown)
		want(t, "Run again", r.Run(t.Context()), store.ErrStopped)
	})
}

// TestClose: what comes after it is refused.
func TestClose(t *testing.T) {
	r := newRig(t)
	run(t, r.As(1), "x")
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := r.As(1).Begin(t.Context(), ref("y"), attempt("h"))
	want(t, "Begin", err, ledger.ErrUnavailable)
	want(t, "Step", func() error { r.clock.pass(time.Hour); _, err := r.Step(t.Context()); return err }(), ledger.ErrUnavailable)
	if err := r.Close(t.Context()); err != nil {
		t.Errorf("Close again: %v", err)
	}
}

// TestNoLedger: a store that holds something else is none.
func TestNoLedger(t *testing.T) {
	m := storetest.NewMemory()
	if err := m.Commit(t.Context(), nil, []store.Write{{Key: []byte("x"), Value: []byte("y")}}); err != nil {
		t.Fatal(err)
	}
	_, err := ledger.Open(t.Context(), m, ledger.Config{})
	want(t, "Open", err, store.ErrDamaged)
	_, err = ledger.Open(t.Context(), storetest.NewMemory(), ledger.Config{Horizon: time.Millisecond})
	want(t, "Open with a short horizon", err, ledger.ErrInvalid)
}

// TestBootClock: the machine's clock is that of its boot, sleep included.
func TestBootClock(t *testing.T) {
	uptime := func() time.Duration {
		text, err := os.ReadFile("/proc/uptime")
		if err != nil {
			t.Fatal(err)
		}
		seconds, _, _ := strings.Cut(string(text), " ")
		return duration(t, seconds+"s")
	}
	const rounding = 10 * time.Millisecond
	before := uptime()
	boot := ledger.SystemClock.Boot()
	if after := uptime(); boot < before-rounding || boot > after+rounding {
		t.Errorf("%v, between %v and %v", boot, before, after)
	}
}
