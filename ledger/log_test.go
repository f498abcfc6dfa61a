package ledger_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opmint/opmint/ledger"
	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
)

// readLog reads the log to its end, a few events at a time, and verifies it.
func readLog(t reporter, k *ledger.Keeper, q ledger.LogQuery) (all []ledger.Event) {
	t.Helper()
	var v ledger.Verifier
	for q.Limit = 3; ; {
		events, err := k.Log(t.Context(), q)
		if err != nil {
			t.Fatalf("Log: %v", err)
		}
		if len(events) == 0 {
			return all
		}
		for _, e := range events {
			if err := v.Add(e.Line); err != nil {
				t.Fatalf("Add: %v", err)
			}
			q.After = e.Number
		}
		all = append(all, events...)
	}
}

// happenings makes events of two users in private and shared scopes.
func happenings(r *rig) {
	for i, uid := range []uint32{1, 2, 1, 2, 1} {
		run(r.t, r.As(uid), fmt.Sprint("x", i))
		shared := ledger.Ref{Scope: "shared.s", Name: fmt.Sprint("x", i)}
		if _, err := r.As(uid).Begin(r.t.Context(), shared, attempt("h")); err != nil {
			r.t.Fatalf("Begin: %v", err)
		}
	}
}

// TestLog: the log has all events in the order of their numbers, each with the hash of
// the line before it in its chain.
func TestLog(t *testing.T) {
	r := newRig(t)
	happenings(r)
	all := readLog(t, r.Keeper, ledger.LogQuery{All: true})
	last := map[string]string{}
	whats := map[string]int{}
	for i, e := range all {
		var line struct {
			Number                  uint64
			Time                    time.Time
			Chain, What, Name, Prev string
		}
		if err := json.Unmarshal(e.Line, &line); err != nil {
			t.Fatalf("%s: %v", e.Line, err)
		}
		if line.Number != e.Number || line.Number != uint64(i+1) || !line.Time.Equal(r.clock.Wall()) {
			t.Errorf("event %d: %s", i+1, e.Line)
		}
		if prev, known := last[line.Chain]; known && prev != line.Prev || !known && line.Prev != strings.Repeat("0", 64) {
			t.Errorf("event %d does not follow: %s", e.Number, e.Line)
		}
		hash := sha256.Sum256(e.Line)
		last[line.Chain] = hex.EncodeToString(hash[:])
		whats[line.Chain+" "+line.What]++
	}
	wanted := map[string]int{
		"1 scope": 1, "1 begun": 3, "1 finished": 3, "2 scope": 1, "2 begun": 2, "2 finished": 2,
		"shared scope": 1, "shared begun": 5,
	}
	if fmt.Sprint(whats) != fmt.Sprint(wanted) {
		t.Errorf("%v, want %v", whats, wanted)
	}
	if mine := readLog(t, r.Keeper, ledger.LogQuery{UID: 2}); len(mine) != 5+6 {
		t.Errorf("uid 2 sees %d events", len(mine))
	}
	for _, limit := range []int{0, 1001} {
		_, err := r.Log(t.Context(), ledger.LogQuery{Limit: limit})
		want(t, fmt.Sprint("limit ", limit), err, ledger.ErrInvalid)
	}
}

// ends reports whether an event is the first or the last of its chain.
func ends(all []ledger.Event, i int) bool {
	chain := func(e ledger.Event) string { return strings.Split(string(e.Line), ",")[1] }
	same := func(e ledger.Event) bool { return chain(e) == chain(all[i]) }
	return !slices.ContainsFunc(all[:i], same) || !slices.ContainsFunc(all[i+1:], same)
}

// TestVerifier notices each line that is missing, changed, or in another place, between
// the first and the last of its chain.
func TestVerifier(t *testing.T) {
	r := newRig(t)
	happenings(r)
	all := readLog(t, r.Keeper, ledger.LogQuery{All: true})
	verify := func(events []ledger.Event) error {
		var v ledger.Verifier
		for _, e := range events {
			if err := v.Add(e.Line); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range len(all) - 1 {
		if ends(all, i) {
			continue
		}
		without := append(append([]ledger.Event{}, all[:i]...), all[i+1:]...)
		changed := append([]ledger.Event{}, all...)
		changed[i].Line = bytes.Replace(all[i].Line, []byte(`"what":"`), []byte(`"what": "`), 1)
		swapped := append([]ledger.Event{}, all...)
		swapped[i], swapped[i+1] = all[i+1], all[i]
		for what, events := range map[string][]ledger.Event{"missing": without, "changed": changed, "swapped": swapped} {
			if verify(events) == nil {
				t.Errorf("event %d is %s, unnoticed", i+1, what)
			}
		}
	}
	if (&ledger.Verifier{}).Add([]byte("{")) == nil || (&ledger.Verifier{}).Add([]byte("{}")) == nil {
		t.Error("no event is taken for one")
	}
}

// TestTampering: records and logs that do not fit each other are found.
func TestTampering(t *testing.T) {
	r := newRig(t)
	happenings(r)
	records, err := r.store.Scan(t.Context(), nil, nil, store.MaxScan)
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range records {
		for _, value := range [][]byte{nil, append(bytes.Clone(record.Value), 1)} {
			copied := r.store.Clone()
			if err := copied.Commit(t.Context(), nil, []store.Write{{Key: record.Key, Value: value}}); err != nil {
				t.Fatal(err)
			}
			again := storetest.NewMemory()
			err := ledger.Rebuild(t.Context(), copied, again)
			if err == nil {
				err = ledger.Compare(t.Context(), copied, again)
			}
			if err == nil && record.Key[0] != 'e' {
				t.Errorf("record %q became %q, unnoticed", record.Key, value)
			}
		}
	}
}

// TestWaitLog returns once something has happened, and not before.
func TestWaitLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		run(t, r.As(1), "x")
		if err := r.WaitLog(t.Context(), 2); err != nil {
			t.Error(err)
		}
		done := make(chan error, 1)
		go func() { done <- r.WaitLog(t.Context(), 3) }()
		synctest.Wait()
		select {
		case <-done:
			t.Error("nothing has happened")
		default:
		}
		begin(t, r.As(2), "y", "h")
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestCheckpoints: the log does not grow for ever, what is left of it is verified and
// rebuilds the ledger, and who follows it misses nothing.
func TestCheckpoints(t *testing.T) {
	r := newRig(t)
	for i := range 300 {
		begin(t, r.As(2), fmt.Sprint("stays ", i), "h")
	}
	var v ledger.Verifier
	after, most := uint64(0), uint64(0)
	for i := range 1000 {
		op := begin(t, r.As(1), mint("a", 1, uint64(i)), "h")
		finish(t, r.As(1), op, ledger.Applied)
		r.clock.pass(time.Hour)
		for range 3 {
			if _, err := r.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
			events, err := r.Log(t.Context(), ledger.LogQuery{All: true, After: after, Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if err := v.Add(e.Line); err != nil {
					t.Fatal(err)
				}
				after = e.Number
			}
		}
		stats, err := r.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, stats.LogBytes)
		if i%97 == 0 {
			rebuilt(t, r.store)
		}
	}
	r.work()
	rebuilt(t, r.store)
	first := readLog(t, r.Keeper, ledger.LogQuery{UID: 1})[0]
	if !bytes.Contains(first.Line, []byte(`"what":"checkpoint"`)) {
		t.Errorf("the log begins with %s", first.Line)
	}
	// 192 operations are there at any time, and 300; each is some 200 bytes in the log.
	if most > 800_000 {
		t.Errorf("%d bytes of log", most)
	}
}
