package ledger_test

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/ledger"
)

// restore puts a backup in the place of the ledger.
func (r *rig) restore(declared bool) {
	r.t.Helper()
	backup := r.store.Clone()
	for _, name := range []string{mint("a", 1, 2), "lost"} {
		run(r.t, r.As(1), name)
	}
	r.store.Close()
	r.store = backup
	r.config.Restored = declared
	r.open()
	r.config.Restored = false
}

// TestRestored: of a name that a restored ledger has not seen it says that it does not
// know, and never that it is new, until it is accepted. What it knows it answers.
func TestRestored(t *testing.T) {
	r := newRig(t)
	run(t, r.As(1), mint("a", 1, 1))
	r.restore(true)
	check := func(when string) {
		t.Helper()
		if op, err := r.As(1).Begin(t.Context(), ref(mint("a", 1, 1)), attempt("x")); err != nil || !op.Replayed {
			t.Errorf("%s: what it knows: %+v, %v", when, op, err)
		}
		for _, name := range []string{
			mint("a", 1, 2), mint("a", 9, 9), mint("b", 1, 1), "lost", "new", mint("a", 9, 9) + "_undo",
		} {
			_, err := r.As(1).Begin(t.Context(), ref(name), attempt("x"))
			want(t, when+": Begin", err, ledger.ErrOutcomeUnknown)
			_, err = r.As(1).Lookup(t.Context(), ref(name))
			want(t, when+": Lookup", err, ledger.ErrOutcomeUnknown)
			_, err = r.As(1).Finish(t.Context(), ref(name), ledger.Hold{Holder: "h", Fence: 1}, ledger.Applied, nil)
			want(t, when+": Finish", err, ledger.ErrOutcomeUnknown)
			verdicts, err := r.As(1).Absorb(t.Context(), "s", []ledger.Item{{Name: name}})
			if err != nil || verdicts[0] != ledger.VerdictUnknown {
				t.Errorf("%s: Absorb = %q, %v", when, verdicts, err)
			}
		}
		if info, err := r.Info(t.Context()); err != nil || !info.Suspect {
			t.Errorf("%s: %+v, %v", when, info, err)
		}
	}
	check("restored")
	r.restart()
	check("restarted")
	if err := r.Accept(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if info, err := r.Info(t.Context()); err != nil || info.Suspect {
			t.Errorf("accepted: %+v, %v", info, err)
		}
		r.restart()
	}
	begin(t, r.As(1), "new", "x")
	rebuilt(t, r.store)
}

// TestClaimedSinceRestored: names of an epoch that was claimed since cannot have been
// in what was lost.
func TestClaimedSinceRestored(t *testing.T) {
	r := newRig(t)
	r.restore(true)
	r.Claimed(keygen.NewIdentity(sha256.Sum256([]byte("a")), [32]byte{}, [16]byte{}), 5)
	run(t, r.As(1), mint("a", 5, 0))
	run(t, r.As(1), mint("a", 6, 0))
	run(t, r.As(1), mint("a", 5, 0)+"_undo")
	for _, name := range []string{mint("a", 4, 9), mint("b", 5, 0), mint("a", 4, 9) + "_undo"} {
		_, err := r.As(1).Begin(t.Context(), ref(name), attempt("x"))
		want(t, name, err, ledger.ErrOutcomeUnknown)
	}
}

// TestSettleWhatWasLost: an operator who found out about one name need not accept all.
func TestSettleWhatWasLost(t *testing.T) {
	r := newRig(t)
	r.restore(true)
	name := mint("a", 1, 2)
	for range 2 {
		op, err := r.As(1).Settle(t.Context(), ref(name), ledger.Applied, &ledger.Result{Status: 201})
		if err != nil || op.State != ledger.Applied || !op.Settled {
			t.Fatalf("Settle = %+v, %v", op, err)
		}
	}
	op, err := r.As(1).Begin(t.Context(), ref(name), attempt("x"))
	if err != nil || !op.Replayed || op.Result == nil || op.Result.Status != 201 {
		t.Errorf("Begin = %+v, %v", op, err)
	}
	r.pass(200 * time.Hour)
	_, err = r.As(1).Begin(t.Context(), ref(name), attempt("x"))
	want(t, "after the horizon", err, ledger.ErrExpired)
	rebuilt(t, r.store)
}

// TestRestoredIsNoticed: a restored ledger has the same ID and fewer events, and a new
// one another ID. So a journal that noted both can tell.
func TestRestoredIsNoticed(t *testing.T) {
	r := newRig(t)
	run(t, r.As(1), "x")
	before, err := r.Info(t.Context())
	if err != nil || !before.Since.Equal(r.clock.Wall()) {
		t.Fatal(before, err)
	}
	backup := r.store.Clone()
	run(t, r.As(1), "y")
	later, err := r.Info(t.Context())
	if err != nil || later.Events <= before.Events || later.ID != before.ID {
		t.Errorf("%+v after %+v, %v", later, before, err)
	}
	r.store.Close()
	r.store = backup
	r.open()
	if again, err := r.Info(t.Context()); err != nil || again != before {
		t.Errorf("restored %+v, want %+v, %v", again, before, err)
	}
	if other, err := newRig(t).Info(t.Context()); err != nil || other.ID == before.ID {
		t.Errorf("another ledger: %+v, %v", other, err)
	}
}
