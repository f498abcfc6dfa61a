package ledger_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/opmint/opmint/ledger"
)

func limited(t reporter, l ledger.Limits) *rig {
	r := newRig(t)
	r.config.Limits = l
	r.restart()
	return r
}

// overloaded wants a refusal with a time to come again, on the caller's account.
func overloaded(t reporter, what string, err error) {
	t.Helper()
	refusal, ok := errors.AsType[*ledger.Refusal](err)
	if !ok || refusal.Reason != ledger.ErrOverloaded || !refusal.Own || refusal.RetryAfter <= 0 {
		t.Errorf("%s: %#v", what, err)
	}
}

func TestRunningIsBounded(t *testing.T) {
	r := limited(t, ledger.Limits{Running: 2})
	first := begin(t, r.As(1), "1", "h")
	begin(t, r.As(1), "2", "h")
	_, err := r.As(1).Begin(t.Context(), ref("3"), attempt("h"))
	overloaded(t, "a third", err)
	begin(t, r.As(1), "2", "h")
	begin(t, r.As(2), "3", "h")
	absorb(t, r.As(1), ledger.Item{Name: "4"})
	finish(t, r.As(1), first, ledger.Applied)
	begin(t, r.As(1), "3", "h")
	r.pass(time.Minute)
	begin(t, r.As(1), "5", "h")
}

func TestUnknownIsBounded(t *testing.T) {
	r := limited(t, ledger.Limits{Unknown: 2})
	finish(t, r.As(1), begin(t, r.As(1), "1", "h"), ledger.Unknown)
	third := begin(t, r.As(1), "3", "h")
	begin(t, r.As(1), "2", "h")
	r.pass(20 * time.Second)
	if _, err := r.As(1).Extend(t.Context(), third.Ref, third.Hold(), time.Hour); err != nil {
		t.Fatal(err)
	}
	r.pass(11 * time.Second)
	_, err := r.As(1).Begin(t.Context(), ref("4"), attempt("h"))
	overloaded(t, "with two unknown", err)
	_, err = r.As(1).Absorb(t.Context(), "s", []ledger.Item{{Name: "4"}})
	overloaded(t, "with two unknown", err)
	finish(t, r.As(1), third, ledger.Unknown)
	if op, err := r.As(1).Begin(t.Context(), ref("1"), attempt("h")); err != nil || !op.Replayed {
		t.Errorf("a replay: %+v, %v", op, err)
	}
	for _, name := range []string{"1", "2"} {
		if _, err := r.As(1).Settle(t.Context(), ref(name), ledger.Failed, nil); err != nil {
			t.Error(err)
		}
	}
	begin(t, r.As(1), "4", "h")
	rebuilt(t, r.store)
}

func TestScopesAreBounded(t *testing.T) {
	r := limited(t, ledger.Limits{Scopes: 2})
	run(t, r.As(1), "x")
	if _, err := r.As(1).SetHorizon(t.Context(), "shared.a", time.Hour); err != nil {
		t.Fatal(err)
	}
	_, err := r.As(1).SetHorizon(t.Context(), "c", time.Hour)
	overloaded(t, "a third scope", err)
	_, err = r.As(1).Begin(t.Context(), ledger.Ref{Scope: "c", Name: "x"}, attempt("h"))
	overloaded(t, "a third scope", err)
	_, err = r.As(1).Absorb(t.Context(), "c", []ledger.Item{{Name: "4"}})
	overloaded(t, "a third scope", err)
	if _, err := r.As(2).SetHorizon(t.Context(), "shared.b", time.Hour); err != nil {
		t.Error(err)
	}
}

// TestMadeUpNames: names that somebody makes up fill no more than the quota, and shut
// out nobody else, in shared scopes neither; and what is purged makes room.
func TestMadeUpNames(t *testing.T) {
	r := limited(t, ledger.Limits{Bytes: 100_000})
	for _, scope := range []string{"own", "shared.a"} {
		var err error
		for n := uint64(0); err == nil; n++ {
			items := []ledger.Item{{Name: mint("made up", 1, n)}, {Name: mint(fmt.Sprint("made up ", n), 1, n)}}
			_, err = r.As(66).Absorb(t.Context(), scope, items)
		}
		overloaded(t, scope, err)
	}
	if s, err := r.As(66).Scope(t.Context(), "own"); err != nil || s.Records() < 300 {
		t.Errorf("the quota ends with %+v, %v", s, err)
	}
	stats, err := r.Stats(t.Context())
	if err != nil || stats.Bytes > 100_000 {
		t.Errorf("%+v, %v", stats, err)
	}
	if _, err := r.As(1).Begin(t.Context(), ledger.Ref{Scope: "shared.a", Name: "x"}, attempt("h")); err != nil {
		t.Error(err)
	}
	run(t, r.As(1), "x")
	r.pass(193 * time.Hour)
	absorb(t, r.As(66), ledger.Item{Name: "again"})
	rebuilt(t, r.store)
}
