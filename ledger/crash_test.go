package ledger_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/opmint/opmint/ledger"
	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
)

// life is what happens to a few names over two starts; each call that an error ends is
// repeated once the ledger is open again, as its caller would.
type life struct {
	*rig
	what string
	end  func(*storetest.Memory) *storetest.Memory
}

// do makes a call until it is answered.
func (l *life) do(call func(me ledger.Ledger) error) {
	l.t.Helper()
	for range 3 {
		err := call(l.As(1))
		if err == nil {
			return
		}
		if !errors.Is(err, ledger.ErrUnavailable) || !errors.Is(err, storetest.ErrFault) {
			l.t.Fatalf("%s: %v", l.what, err)
		}
		if errors.Is(err, store.ErrOutcomeUnknown) {
			l.store = l.end(l.store)
			l.open()
		}
	}
	l.t.Fatalf("%s: no answer", l.what)
}

func (l *life) begin(name string) (op ledger.Operation) {
	l.t.Helper()
	l.do(func(me ledger.Ledger) (err error) {
		op, err = me.Begin(l.t.Context(), ref(name), attempt("h"))
		return err
	})
	return op
}

// live lives the life, the same after each fault.
func (l *life) live() {
	l.t.Helper()
	large := &ledger.Result{Status: 200, Body: make([]byte, 2000)}
	for i, name := range []string{mint("a", 1, 1), "foreign", mint("a", 1, 2), mint("b", 7, 1)} {
		op := l.begin(name)
		if again := l.begin(name); again.Fence != op.Fence || again.State != ledger.Running {
			l.t.Errorf("%s: begun twice: %+v, %+v", l.what, op, again)
		}
		outcome := []ledger.State{ledger.Applied, ledger.Failed, ledger.Unknown, ledger.Applied}[i]
		l.do(func(me ledger.Ledger) error {
			_, err := me.Finish(l.t.Context(), op.Ref, op.Hold(), outcome, large)
			return err
		})
		if again := l.begin(name); again.State != outcome || !again.Replayed || len(again.Result.Body) != 2000 {
			l.t.Errorf("%s: %+v after it ended", l.what, again)
		}
	}
	l.do(func(me ledger.Ledger) error {
		_, err := me.Settle(l.t.Context(), ref(mint("a", 1, 2)), ledger.Applied, nil)
		return err
	})
	l.do(func(me ledger.Ledger) error {
		_, err := me.Absorb(l.t.Context(), "s", []ledger.Item{{Name: "m1"}, {Name: mint("a", 1, 3)}})
		return err
	})
	l.begin("lapses")
	// Each twice, for a crash takes back what was not written down of the time.
	hour := time.Hour
	for _, d := range []time.Duration{hour, hour, 193 * hour, 193 * hour, 1921 * hour, 1921 * hour} {
		l.clock.pass(d)
		for more := true; more; {
			l.do(func(ledger.Ledger) (err error) {
				more, err = l.Step(l.t.Context())
				return err
			})
		}
	}
}

// TestWritesFail lets each write of a life fail in each way, once.
func TestWritesFail(t *testing.T) {
	whole := &life{rig: newRig(t), what: "no fault"}
	whole.live()
	writes := whole.store.Commits()
	if writes < 15 {
		t.Fatalf("only %d writes", writes)
	}
	for n := 1; n <= writes; n++ {
		for _, fault := range storetest.Faults {
			for ending, end := range map[string]func(*storetest.Memory) *storetest.Memory{
				"killed": (*storetest.Memory).Restart, "power lost": (*storetest.Memory).Crash,
			} {
				l := &life{rig: newRig(t), what: fmt.Sprintf("write %d, %s, %s", n, fault, ending), end: end}
				l.store.Fail(n, fault)
				l.live()
				rebuilt(t, l.store)
				stats, err := l.Stats(t.Context())
				wanted := ledger.Counts{Unknown: 1, Floors: 2}
				if err != nil || stats.Counts != wanted {
					t.Errorf("%s: at the end %+v, %v", l.what, stats, err)
				}
			}
		}
	}
}

// TestStoreDown: a ledger that cannot be written or read says so, and nothing is run.
func TestStoreDown(t *testing.T) {
	r := newRig(t)
	op := begin(t, r.As(1), "x", "h")
	r.store.Fail(1, storetest.Refuse)
	_, err := r.As(1).Begin(t.Context(), ref("y"), attempt("h"))
	want(t, "Begin on a full disk", err, ledger.ErrUnavailable)
	r.store.Fail(1, storetest.Refuse)
	_, err = r.As(1).Finish(t.Context(), op.Ref, op.Hold(), ledger.Applied, nil)
	want(t, "Finish on a full disk", err, ledger.ErrUnavailable)
	if op, err := r.As(1).Lookup(t.Context(), ref("x")); err != nil || op.State != ledger.Running {
		t.Errorf("after a result that could not be stored: %+v, %v", op, err)
	}
	r.store.Close()
	for name, call := range map[string]func(l ledger.Ledger) error{
		"Begin":  func(l ledger.Ledger) error { _, err := l.Begin(t.Context(), ref("x"), attempt("h")); return err },
		"Lookup": func(l ledger.Ledger) error { _, err := l.Lookup(t.Context(), ref("x")); return err },
		"List":   func(l ledger.Ledger) error { _, err := l.List(t.Context(), "s", ledger.ListOptions{}); return err },
		"Scope":  func(l ledger.Ledger) error { _, err := l.Scope(t.Context(), "s"); return err },
		"Absorb": func(l ledger.Ledger) error {
			_, err := l.Absorb(t.Context(), "s", []ledger.Item{{Name: "z"}})
			return err
		},
	} {
		want(t, name+" on a closed store", call(r.As(1)), ledger.ErrUnavailable)
	}
}
