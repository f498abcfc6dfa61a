// Package storetest tests implementations of store.Store, and is one.
//
// [Run] is the suite that every implementation passes: what the contract in
// package store says, and nothing else. [Memory] is a store in memory whose
// writes fail as a disk's do, for tests of what rests on a store.
package storetest

import (
	"context"
	"testing"

	"github.com/opmint/opmint/store"
)

// Place is somewhere a store can be kept. It opens the store that is there, at
// first an empty one. The store that was opened before is closed by then.
type Place func() (store.Store, error)

// Run tests an implementation. It calls newPlace for places of their own that
// last until t ends.
func Run(t *testing.T, newPlace func(t *testing.T) Place) {
	for name, test := range map[string]func(*testing.T, Place){
		"empty":                    empty,
		"put, replace, delete":     putReplaceDelete,
		"nothing is shared":        nothingIsShared,
		"any bytes":                anyBytes,
		"out of bounds":            outOfBounds,
		"at the bounds":            atTheBounds,
		"checks":                   checks,
		"conflict changes nothing": conflictChangesNothing,
		"scan":                     scan,
		"scan of large values":     scanOfLargeValues,
		"cancelled":                cancelled,
		"closed":                   closed,
		"reopened":                 reopened,
		"counters":                 counters,
		"one winner":               oneWinner,
		"one moment":               oneMoment,
	} {
		t.Run(name, func(t *testing.T) { test(t, newPlace(t)) })
	}
	t.Run("model", func(t *testing.T) { model(t, newPlace) })
}

// reporter is what *testing.T and *rapid.T have in common.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

func open(t reporter, place Place) store.Store {
	t.Helper()
	s, err := place()
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s
}

// opened is open for tests that leave closing to t's end.
func opened(t *testing.T, place Place) store.Store {
	t.Helper()
	s := open(t, place)
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

func closeStore(t reporter, s store.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

func get(t reporter, s store.Store, key string) string {
	t.Helper()
	value, err := s.Get(context.Background(), []byte(key))
	if err != nil {
		t.Fatalf("Get(%.80q): %v", key, err)
	}
	return string(value)
}

// put writes pairs of key and value.
func put(t reporter, s store.Store, pairs ...string) {
	t.Helper()
	if err := s.Commit(context.Background(), nil, writesOf(pairs...)); err != nil {
		t.Fatalf("Commit(%.80q): %v", pairs, err)
	}
}

func writesOf(pairs ...string) (writes []store.Write) {
	for i := 0; i < len(pairs); i += 2 {
		writes = append(writes, store.Write{Key: []byte(pairs[i]), Value: []byte(pairs[i+1])})
	}
	return writes
}

func checksOf(pairs ...string) (checks []store.Check) {
	for _, w := range writesOf(pairs...) {
		checks = append(checks, store.Check(w))
	}
	return checks
}

// scanAll reads what has the prefix and is after a key, limit records at a
// time, as pairs of key and value.
func scanAll(t reporter, s store.Store, prefix, after string, limit int) (pairs []string) {
	t.Helper()
	for {
		records, err := s.Scan(context.Background(), []byte(prefix), []byte(after), limit)
		if err != nil {
			t.Fatalf("Scan(%q, %q, %d): %v", prefix, after, limit, err)
		}
		if len(records) == 0 {
			return pairs
		}
		if len(records) > limit {
			t.Fatalf("Scan(%q, %q, %d): %d records", prefix, after, limit, len(records))
		}
		for _, r := range records {
			pairs = append(pairs, string(r.Key), string(r.Value))
		}
		after = string(records[len(records)-1].Key)
	}
}
