package ledger_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/opmint/opmint/ledger"
)

func TestAbsorb(t *testing.T) {
	r := newRig(t)
	me := r.As(1)
	for state, bring := range states {
		bring(r, "already "+state)
	}
	item := func(name, payload string) ledger.Item { return ledger.Item{Name: name, Fingerprint: print(payload)} }
	items := []ledger.Item{
		item(mint("a", 1, 1), "payload"), item(mint("a", 1, 1), "payload"), item(mint("a", 1, 1), "another"),
		item("already applied", "payload"), item("already failed", "payload"), item("already unknown", "payload"),
		item("already absorbed", "payload"), item("already settled", "payload"), item("already absorbed", "another"),
		item("URN:UUID:B2A9C7F0-0000-4000-8000-00000000000A", "payload"), item("b2a9c7f0-0000-4000-8000-00000000000a", "payload"),
	}
	wanted := []ledger.Verdict{
		ledger.VerdictFresh, ledger.VerdictSeen, ledger.VerdictMismatch,
		ledger.VerdictSeen, ledger.VerdictFailed, ledger.VerdictUnknown,
		ledger.VerdictSeen, ledger.VerdictSeen, ledger.VerdictMismatch,
		ledger.VerdictFresh, ledger.VerdictSeen,
	}
	got, err := me.Absorb(t.Context(), "s", items)
	if err != nil || !slices.Equal(got, wanted) {
		t.Errorf("%q, %v, want %q", got, err, wanted)
	}
	op, err := me.Begin(t.Context(), ref(mint("a", 1, 1)), attempt("h"))
	if err != nil || op.State != ledger.Applied || !op.Replayed || op.Result != nil || op.Fence != 0 {
		t.Errorf("Begin of an absorbed name: %+v, %v", op, err)
	}
	if got, err := me.Absorb(t.Context(), "unused", nil); err != nil || len(got) != 0 {
		t.Errorf("nothing: %q, %v", got, err)
	}
	rebuilt(t, r.store)
}

// TestAbsorbedLevelOff: however many names are absorbed, with a short horizon the
// records, the bytes of the log and those of the store level off, but for one floor for
// each identity. The purging needs no other work than the absorbing.
func TestAbsorbedLevelOff(t *testing.T) {
	r := newRig(t)
	if _, err := r.As(1).SetHorizon(t.Context(), "s", time.Minute); err != nil {
		t.Fatal(err)
	}
	const rounds, names = 60, 500
	var most [2]ledger.Stats
	for round := range rounds {
		items := make([]ledger.Item, names)
		for i := range items {
			items[i].Name = mint(fmt.Sprint("identity ", round/10), uint64(round), uint64(i))
		}
		absorb(t, r.As(1), items...)
		if round%4 == 0 {
			r.work()
		}
		r.clock.pass(10 * time.Second)
		stats, err := r.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		half := &most[2*round/rounds]
		half.Applied = max(half.Applied, stats.Applied)
		half.Bytes, half.LogBytes = max(half.Bytes, stats.Bytes), max(half.LogBytes, stats.LogBytes)
		if stats.Floors != uint64(round/10+1) || stats.Tombstones != 0 {
			t.Errorf("round %d: %+v", round, stats)
		}
	}
	// A minute, a minute of slack, and what a round adds.
	if most[0].Applied > 14*names || most[1].Applied > most[0].Applied {
		t.Errorf("%d records, then %d", most[0].Applied, most[1].Applied)
	}
	if most[1].Bytes > most[0].Bytes+floors || most[1].LogBytes > 2*most[0].LogBytes {
		t.Errorf("%+v, then %+v", most[0], most[1])
	}
	rebuilt(t, r.store)
}

// floors are bytes of a few floors.
const floors = 1000
