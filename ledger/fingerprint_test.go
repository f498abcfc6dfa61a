package ledger_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"errors"

	"github.com/opmint/opmint/ledger"
)

// states brings an operation into each state.
var states = map[string]func(r *rig, name string){
	"running": func(r *rig, name string) { begin(r.t, r.As(1), name, "a") },
	"applied": func(r *rig, name string) { finish(r.t, r.As(1), begin(r.t, r.As(1), name, "a"), ledger.Applied) },
	"failed":  func(r *rig, name string) { finish(r.t, r.As(1), begin(r.t, r.As(1), name, "a"), ledger.Failed) },
	"unknown": func(r *rig, name string) { finish(r.t, r.As(1), begin(r.t, r.As(1), name, "a"), ledger.Unknown) },
	"lapsed": func(r *rig, name string) {
		begin(r.t, r.As(1), name, "a")
		r.pass(time.Minute)
	},
	"overdue": func(r *rig, name string) {
		begin(r.t, r.As(1), name, "a")
		r.clock.pass(time.Minute)
	},
	"settled": func(r *rig, name string) {
		finish(r.t, r.As(1), begin(r.t, r.As(1), name, "a"), ledger.Unknown)
		if _, err := r.As(1).Settle(r.t.Context(), ref(name), ledger.Applied, nil); err != nil {
			r.t.Fatalf("Settle: %v", err)
		}
	},
	"absorbed": func(r *rig, name string) {
		_, err := r.As(1).Absorb(r.t.Context(), "s", []ledger.Item{{Name: name, Fingerprint: print("payload")}})
		if err != nil {
			r.t.Fatalf("Absorb: %v", err)
		}
	},
}

// TestFingerprintInEveryState: a mismatch never runs and changes nothing, by the same
// holder neither, and after a restart neither.
func TestFingerprintInEveryState(t *testing.T) {
	for state, bring := range states {
		t.Run(state, func(t *testing.T) {
			r := newRig(t)
			name := mint("a", 1, 1)
			bring(r, name)
			before := r.store.Commits()
			for range 2 {
				me := r.As(1)
				known, err := me.Lookup(t.Context(), ref(name))
				if err != nil {
					t.Fatal(err)
				}
				for _, holder := range []string{"a", "b"} {
					for _, print := range []ledger.Fingerprint{{}, print("another")} {
						a := attempt(holder)
						a.Fingerprint = print
						_, err := me.Begin(t.Context(), ref(name), a)
						want(t, "Begin", err, ledger.ErrMismatch)
						verdicts, err := me.Absorb(t.Context(), "s", []ledger.Item{{Name: name, Fingerprint: print}})
						if err != nil || verdicts[0] != ledger.VerdictMismatch {
							t.Errorf("Absorb = %q, %v", verdicts, err)
						}
					}
				}
				after, err := me.Lookup(t.Context(), ref(name))
				if err != nil || fmt.Sprint(after) != fmt.Sprint(known) {
					t.Errorf("%+v became %+v, %v", known, after, err)
				}
				if n := r.store.Commits(); n != before {
					t.Errorf("%d writes", n-before)
				}
				r.restart()
				before = r.store.Commits()
			}
		})
	}
}

// TestNoFingerprint: what began without one is answered to all, for there is nothing to
// compare.
func TestNoFingerprint(t *testing.T) {
	r := newRig(t)
	me := r.As(1)
	if _, err := me.Absorb(t.Context(), "s", []ledger.Item{{Name: "x"}}); err != nil {
		t.Fatal(err)
	}
	op, err := me.Begin(t.Context(), ref("x"), attempt("a"))
	if err != nil || op.State != ledger.Applied || !op.Replayed || op.Result != nil {
		t.Errorf("Begin = %+v, %v", op, err)
	}
}

// TestCrowd: of 64 callers with one name and two payloads one runs, all with the other
// payload are refused, and the rest wait or are answered.
func TestCrowd(t *testing.T) {
	r := newRig(t)
	const callers = 64
	for round := range 10 {
		name := mint("crowd", 1, uint64(round))
		var ran, waited, refused atomic.Int32
		winner := make(chan ledger.Operation, callers)
		payloads := [callers]string{}
		outcomes := [callers]error{}
		var all sync.WaitGroup
		for i := range callers {
			payloads[i] = []string{"X", "Y"}[i%2]
			all.Go(func() {
				a := ledger.Attempt{Holder: fmt.Sprint("holder ", i), Fingerprint: print(payloads[i])}
				op, err := r.As(1).Begin(t.Context(), ref(name), a)
				outcomes[i] = err
				if err == nil {
					ran.Add(1)
					winner <- op
				}
			})
		}
		all.Wait()
		if ran.Load() != 1 {
			t.Fatalf("%d run", ran.Load())
		}
		op := <-winner
		for i, err := range outcomes {
			mine := print(payloads[i]) == op.Fingerprint
			switch {
			case err == nil && mine:
			case errors.Is(err, ledger.ErrInProgress) && mine:
				waited.Add(1)
			case errors.Is(err, ledger.ErrMismatch) && !mine:
				refused.Add(1)
			default:
				t.Errorf("caller %d of payload %s: %v", i, payloads[i], err)
			}
		}
		if waited.Load() != callers/2-1 || refused.Load() != callers/2 {
			t.Errorf("%d waited, %d refused", waited.Load(), refused.Load())
		}
		finish(t, r.As(1), op, ledger.Applied)
	}
	rebuilt(t, r.store)
}
