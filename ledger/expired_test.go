package ledger_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/opmint/opmint/ledger"
	"github.com/opmint/opmint/store/storetest"
)

// TestExpiredForEver: after a restart, after 10,000 further names, after its horizon
// became longer, and for each way to ask.
func TestExpiredForEver(t *testing.T) {
	r := newRig(t)
	first, never := mint("a", 1, 100), mint("a", 1, 99)
	run(t, r.As(1), first)
	r.pass(192 * time.Hour)
	check := func(when string) {
		t.Helper()
		for _, name := range []string{first, never} {
			_, err := r.As(1).Begin(t.Context(), ref(name), attempt("x"))
			want(t, when+": Begin", err, ledger.ErrExpired)
			_, err = r.As(1).Lookup(t.Context(), ref(name))
			want(t, when+": Lookup", err, ledger.ErrExpired)
			_, err = r.As(1).Finish(t.Context(), ref(name), ledger.Hold{Holder: "h", Fence: 1}, ledger.Applied, nil)
			want(t, when+": Finish", err, ledger.ErrExpired)
			verdicts, err := r.As(1).Absorb(t.Context(), "s", []ledger.Item{{Name: name}})
			if err != nil || verdicts[0] != ledger.VerdictExpired {
				t.Errorf("%s: Absorb = %q, %v", when, verdicts, err)
			}
		}
	}
	_, err := r.As(1).Begin(t.Context(), ref(first), attempt("x"))
	want(t, "at the horizon", err, ledger.ErrExpired)
	if _, err := r.As(1).SetHorizon(t.Context(), "s", 1000*time.Hour); err != nil {
		t.Fatal(err)
	}
	_, err = r.As(1).Begin(t.Context(), ref(first), attempt("x"))
	want(t, "the horizon became longer", err, ledger.ErrExpired)
	if _, err := r.As(1).SetHorizon(t.Context(), "s", time.Hour); err != nil {
		t.Fatal(err)
	}
	r.pass(time.Minute)
	check("purged")
	r.restart()
	check("restarted")
	for i := range 10 {
		items := make([]ledger.Item, 1000)
		for j := range items {
			items[j].Name = mint("a", 2, uint64(1000*i+j))
		}
		if _, err := r.As(1).Absorb(t.Context(), "s", items); err != nil {
			t.Fatal(err)
		}
	}
	check("after 10,000 names")
	r.pass(2 * time.Hour)
	check("after they were purged")
	rebuilt(t, r.store)
	if s, err := r.As(1).Scope(t.Context(), "s"); err != nil || s.Records() != 0 || s.Floors != 1 || s.Tombstones != 0 {
		t.Errorf("at the end %+v, %v", s, err)
	}
}

// TestTombstones: a key without a floor is expired for ten horizons, and then new.
func TestTombstones(t *testing.T) {
	for _, name := range []string{"foreign", mint("a", 1, 1) + "_undo"} {
		r := newRig(t)
		run(t, r.As(1), name)
		r.pass(192*time.Hour + time.Minute)
		for range 10 {
			_, err := r.As(1).Begin(t.Context(), ref(name), attempt("x"))
			want(t, "a tombstone", err, ledger.ErrExpired)
			r.pass(192*time.Hour - time.Second)
		}
		r.pass(10 * time.Second)
		begin(t, r.As(1), name, "x")
		if s, err := r.As(1).Scope(t.Context(), "s"); err != nil || s.Floors != 0 || s.Tombstones != 0 {
			t.Errorf("at the end %+v, %v", s, err)
		}
	}
}

// TestChildrenHaveNoFloor: they neither raise it nor obey it.
func TestChildrenHaveNoFloor(t *testing.T) {
	r := newRig(t)
	run(t, r.As(1), mint("a", 5, 5)+"_undo")
	r.pass(200 * time.Hour)
	run(t, r.As(1), mint("a", 1, 1))
	run(t, r.As(1), mint("a", 5, 5))
	r.pass(200 * time.Hour)
	run(t, r.As(1), mint("a", 1, 1)+"_undo")
}

// TestRunningBelowTheFloor: what still runs, or is unknown, is answered below the floor
// too, and is purged in its own time.
func TestRunningBelowTheFloor(t *testing.T) {
	r := newRig(t)
	low := begin(t, r.As(1), mint("a", 1, 1), "h")
	run(t, r.As(1), mint("a", 1, 2))
	r.pass(200 * time.Hour)
	_, err := r.As(1).Begin(t.Context(), low.Ref, attempt("x"))
	want(t, "below the floor", err, ledger.ErrOutcomeUnknown)
	finish(t, r.As(1), low, ledger.Applied)
	if op, err := r.As(1).Begin(t.Context(), low.Ref, attempt("x")); err != nil || !op.Replayed {
		t.Errorf("below the floor: %+v, %v", op, err)
	}
	r.pass(193 * time.Hour)
	_, err = r.As(1).Begin(t.Context(), low.Ref, attempt("x"))
	want(t, "in its time", err, ledger.ErrExpired)
}

// TestTooFarAhead: a name with an epoch that cannot be is no name.
func TestTooFarAhead(t *testing.T) {
	r := newRig(t)
	run(t, r.As(1), mint("a", 7, 1))
	run(t, r.As(1), mint("a", 7+1<<20, 1))
	_, err := r.As(1).Begin(t.Context(), ref(mint("a", 8+2<<20, 1)), attempt("x"))
	want(t, "Begin", err, ledger.ErrInvalid)
	items := []ledger.Item{{Name: "fresh"}, {Name: mint("a", 8+2<<20, 1)}}
	_, err = r.As(1).Absorb(t.Context(), "s", items)
	want(t, "Absorb", err, ledger.ErrInvalid)
	items = []ledger.Item{{Name: mint("b", 1, 1)}, {Name: mint("b", 2+1<<20, 1)}}
	_, err = r.As(1).Absorb(t.Context(), "s", items)
	want(t, "Absorb of an identity that was not seen", err, ledger.ErrInvalid)
	_, err = r.As(1).Lookup(t.Context(), ref("fresh"))
	want(t, "a name beside it", err, ledger.ErrNotFound)
	begin(t, r.As(1), mint("b", 2+1<<20, 1), "h")
}

// TestRetryRacesPurge: while names are purged, each retry is answered from memory or
// expired, and never run.
func TestRetryRacesPurge(t *testing.T) {
	r := newRig(t)
	const names = 500
	for i := range uint64(names) {
		run(t, r.As(1), mint("a", 1, i))
	}
	r.clock.pass(192*time.Hour + time.Minute - time.Millisecond)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range uint64(names) {
				name := mint("a", 1, (n+uint64(i)*names/8)%names)
				if op, err := r.As(1).Begin(t.Context(), ref(name), attempt("x")); !errors.Is(err, ledger.ErrExpired) {
					t.Errorf("%s: %+v, %v", name, op, err)
				}
				_, err := r.As(1).Begin(t.Context(), ref(fmt.Sprint(i, "-", n)), attempt("x"))
				if err != nil {
					t.Errorf("a new name: %v", err)
				}
			}
		})
	}
	all.Go(func() {
		for range names {
			r.clock.pass(time.Millisecond)
			if _, err := r.Step(t.Context()); err != nil {
				t.Errorf("Step: %v", err)
			}
		}
	})
	all.Wait()
	r.work()
	rebuilt(t, r.store)
}

// TestPurgeAndFloorAreOneCommit: a purge that fails at any write leaves no name that
// could be run again.
func TestPurgeAndFloorAreOneCommit(t *testing.T) {
	for _, fault := range storetest.Faults {
		for n := 1; n <= 3; n++ {
			r := newRig(t)
			for i := range uint64(20) {
				run(t, r.As(1), mint("a", 1, i))
			}
			r.clock.pass(200 * time.Hour)
			r.store.Fail(n, fault)
			for range 5 {
				if _, err := r.Step(t.Context()); err != nil {
					break
				}
			}
			r.store = r.store.Crash()
			r.open()
			for i := range uint64(20) {
				if op, err := r.As(1).Begin(t.Context(), ref(mint("a", 1, i)), attempt("x")); err == nil && !op.Replayed {
					t.Errorf("%v at write %d: name %d is run again: %+v", fault, n, i, op)
				}
			}
		}
	}
}

// TestNamesOutOfOrder: a name that was minted a minute after a later one of its identity,
// which a lease allows, has its whole horizon.
func TestNamesOutOfOrder(t *testing.T) {
	for late, wanted := range map[time.Duration]error{0: nil, time.Minute - time.Millisecond: nil, time.Minute: ledger.ErrExpired} {
		r := newRig(t)
		run(t, r.As(1), mint("a", 1, 2))
		r.pass(192*time.Hour + late)
		_, err := r.As(1).Begin(t.Context(), ref(mint("a", 1, 1)), attempt("x"))
		if !errors.Is(err, wanted) {
			t.Errorf("%v after the horizon of a later name: %v, want %v", late, err, wanted)
		}
	}
}
