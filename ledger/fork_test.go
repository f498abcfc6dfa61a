package ledger_test

import (
	"testing"

	"github.com/opmint/opmint/ledger"
)

// TestFork: names with one identity, epoch and seq and two tags are each a name of its
// own, and both say that there is another.
func TestFork(t *testing.T) {
	for name, second := range map[string]func(r *rig, name string){
		"begun":    func(r *rig, name string) { begin(r.t, r.As(1), name, "h") },
		"absorbed": func(r *rig, name string) { absorb(r.t, r.As(1), ledger.Item{Name: name}) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			mine, other, next := mint("a", 1, 1), mint("a", 1, 1, "cloned"), mint("a", 1, 2)
			run(t, r.As(1), mine+"_undo")
			run(t, r.As(1), mine)
			run(t, r.As(1), next)
			second(r, other)
			for name, forked := range map[string]bool{mine: true, other: true, next: false, mine + "_undo": false} {
				op, err := r.As(1).Lookup(t.Context(), ref(name))
				if err != nil || op.Forked != forked {
					t.Errorf("%s: %+v, %v", name, op, err)
				}
			}
			if stats, err := r.Stats(t.Context()); err != nil || stats.Forked != 2 || stats.Forks != 1 {
				t.Errorf("%+v, %v", stats, err)
			}
			rebuilt(t, r.store)
		})
	}
}

// TestForkInOneAbsorb: also if both come at once.
func TestForkInOneAbsorb(t *testing.T) {
	r := newRig(t)
	names := []string{mint("a", 1, 1), mint("a", 1, 2), mint("a", 1, 1, "cloned")}
	absorb(t, r.As(1), ledger.Item{Name: names[0]}, ledger.Item{Name: names[1]}, ledger.Item{Name: names[2]})
	for i, forked := range []bool{true, false, true} {
		if op, err := r.As(1).Lookup(t.Context(), ref(names[i])); err != nil || op.Forked != forked {
			t.Errorf("%s: %+v, %v", names[i], op, err)
		}
	}
}

// TestForkOfAChildOnly: a child whose root was never seen shows the fork too.
func TestForkOfAChildOnly(t *testing.T) {
	r := newRig(t)
	run(t, r.As(1), mint("a", 1, 1, "cloned")+"_undo")
	if op := begin(t, r.As(1), mint("a", 1, 1), "h"); !op.Forked {
		t.Errorf("%+v", op)
	}
}

// absorb absorbs names that must be fresh.
func absorb(t reporter, l ledger.Ledger, items ...ledger.Item) {
	t.Helper()
	verdicts, err := l.Absorb(t.Context(), "s", items)
	if err != nil {
		t.Fatalf("Absorb: %v", err)
	}
	for i, v := range verdicts {
		if v != ledger.VerdictFresh {
			t.Errorf("%s is %s", items[i].Name, v)
		}
	}
}
