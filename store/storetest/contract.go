package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opmint/opmint/store"
)

func empty(t *testing.T, place Place) {
	s := opened(t, place)
	if v := get(t, s, "a"); v != "" {
		t.Errorf("Get of nothing = %q", v)
	}
	if r := scanAll(t, s, "", "", 10); r != nil {
		t.Errorf("Scan of nothing = %q", r)
	}
	if err := s.Commit(t.Context(), nil, nil); err != nil {
		t.Errorf("Commit of nothing: %v", err)
	}
}

func putReplaceDelete(t *testing.T, place Place) {
	s := opened(t, place)
	put(t, s, "a", "1", "b", "2")
	put(t, s, "a", "3", "b", "", "absent", "")
	put(t, s, "c", "4")
	if got, want := scanAll(t, s, "", "", 10), []string{"a", "3", "c", "4"}; !slices.Equal(got, want) {
		t.Errorf("records %q, want %q", got, want)
	}
	for key, want := range map[string]string{"a": "3", "b": "", "c": "4", "absent": ""} {
		if got := get(t, s, key); got != want {
			t.Errorf("Get(%q) = %q, want %q", key, got, want)
		}
	}
}

// nothingIsShared changes every slice that went in or came out.
func nothingIsShared(t *testing.T, place Place) {
	s := opened(t, place)
	key, value := []byte("key"), []byte("value")
	commit := func() error {
		return s.Commit(t.Context(), []store.Check{{Key: key}}, []store.Write{{Key: key, Value: value}})
	}
	if err := commit(); err != nil {
		t.Fatal(err)
	}
	key[0], value[0] = 'x', 'x'
	for range 2 {
		got, err := s.Get(t.Context(), []byte("key"))
		if err != nil || string(got) != "value" {
			t.Fatalf("Get = %q, %v", got, err)
		}
		got[0] = 'x'
		records, err := s.Scan(t.Context(), nil, nil, 1)
		if err != nil || len(records) != 1 || string(records[0].Key) != "key" || string(records[0].Value) != "value" {
			t.Fatalf("Scan = %q, %v", records, err)
		}
		records[0].Key[0], records[0].Value[0] = 'x', 'x'
	}
}

func anyBytes(t *testing.T, place Place) {
	s := opened(t, place)
	var want []string
	for b := range 256 {
		want = append(want, string([]byte{byte(b)}), strings.Repeat(string([]byte{byte(b)}), b+1))
	}
	put(t, s, want...)
	if got := scanAll(t, s, "", "", 100); !slices.Equal(got, want) {
		t.Errorf("records %q, want %q", got, want)
	}
	if got := scanAll(t, s, "\xff", "", 100); !slices.Equal(got, want[510:]) {
		t.Errorf("records from ff %q", got)
	}
}

func outOfBounds(t *testing.T, place Place) {
	s := opened(t, place)
	long, large := make([]byte, store.MaxKey+1), make([]byte, store.MaxValue+1)
	key := []byte("k")
	many := make([]store.Check, store.MaxOps+1)
	for i := range many {
		many[i].Key = key
	}
	var heavy []store.Write
	for i := range store.MaxCommit/store.MaxValue + 1 {
		heavy = append(heavy, store.Write{Key: fmt.Append(nil, i), Value: large[1:]})
	}
	commits := map[string]func() error{
		"check without key":  func() error { return s.Commit(t.Context(), []store.Check{{}}, nil) },
		"check of long key":  func() error { return s.Commit(t.Context(), []store.Check{{Key: long}}, nil) },
		"large check":        func() error { return s.Commit(t.Context(), []store.Check{{Key: key, Value: large}}, nil) },
		"write without key":  func() error { return s.Commit(t.Context(), nil, writesOf("", "v")) },
		"write of long key":  func() error { return s.Commit(t.Context(), nil, writesOf(string(long), "v")) },
		"large write":        func() error { return s.Commit(t.Context(), nil, writesOf("k", string(large))) },
		"key written twice":  func() error { return s.Commit(t.Context(), nil, writesOf("k", "v", "j", "v", "k", "v")) },
		"too many":           func() error { return s.Commit(t.Context(), many, nil) },
		"too much":           func() error { return s.Commit(t.Context(), nil, heavy) },
		"get without key":    func() error { _, err := s.Get(t.Context(), nil); return err },
		"get of long key":    func() error { _, err := s.Get(t.Context(), long); return err },
		"scan without limit": func() error { _, err := s.Scan(t.Context(), nil, nil, 0); return err },
		"scan of too many":   func() error { _, err := s.Scan(t.Context(), nil, nil, store.MaxScan+1); return err },
		"scan long prefix":   func() error { _, err := s.Scan(t.Context(), long, nil, 1); return err },
		"scan long after":    func() error { _, err := s.Scan(t.Context(), nil, long, 1); return err },
	}
	for name, call := range commits {
		if err := call(); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	if got := scanAll(t, s, "", "", 10); got != nil {
		t.Errorf("something was written: %.200q", got)
	}
}

func atTheBounds(t *testing.T, place Place) {
	s := open(t, place)
	key := strings.Repeat("k", store.MaxKey)
	large := strings.Repeat("v", store.MaxValue)
	put(t, s, key, large, "a", "1", "z", "2")
	if err := s.Commit(t.Context(), checksOf(key, large), writesOf("a", "3")); err != nil {
		t.Fatal(err)
	}
	var pairs []string
	for i := range store.MaxOps {
		pairs = append(pairs, fmt.Sprintf("n%05d", i), "v")
	}
	put(t, s, pairs...)
	closeStore(t, s)
	s = opened(t, place)
	if got := scanAll(t, s, "n", "", store.MaxScan); !slices.Equal(got, pairs) {
		t.Errorf("%d keys and values, want %d", len(got), len(pairs))
	}
	if got := get(t, s, key); got != large {
		t.Errorf("the largest record has %d bytes", len(got))
	}
	if got, want := get(t, s, "a")+get(t, s, "z"), "32"; got != want {
		t.Errorf("its neighbours are %q, want %q", got, want)
	}
}

func checks(t *testing.T, place Place) {
	s := opened(t, place)
	put(t, s, "a", "1", "b", "2")
	for _, test := range []struct {
		checks []store.Check
		fails  int // index, or -1
	}{
		{checksOf("a", "1"), -1},
		{checksOf("absent", ""), -1},
		{checksOf("a", "1", "absent", "", "b", "2", "a", "1"), -1},
		{checksOf("a", "2"), 0},
		{checksOf("a", ""), 0},
		{checksOf("a", "11"), 0},
		{checksOf("absent", "1"), 0},
		{checksOf("a", "1", "b", "1", "absent", "1"), 1},
		{checksOf("a", "1", "b", "2", "absent", "1"), 2},
	} {
		for _, writes := range [][]store.Write{nil, writesOf("c", "3")} {
			err := s.Commit(t.Context(), test.checks, writes)
			if test.fails < 0 {
				if err != nil {
					t.Errorf("checks %q: %v", test.checks, err)
				}
				continue
			}
			var conflict *store.ConflictError
			if !errors.Is(err, store.ErrConflict) || !errors.As(err, &conflict) || conflict.Check != test.fails {
				t.Errorf("checks %q: %v, want a conflict at %d", test.checks, err, test.fails)
			}
		}
	}
}

func conflictChangesNothing(t *testing.T, place Place) {
	s := open(t, place)
	put(t, s, "a", "1", "b", "2")
	err := s.Commit(t.Context(), checksOf("a", "1", "b", "1"), writesOf("a", "9", "b", "", "c", "9"))
	if !errors.Is(err, store.ErrConflict) {
		t.Fatalf("Commit: %v, want ErrConflict", err)
	}
	want := []string{"a", "1", "b", "2"}
	if got := scanAll(t, s, "", "", 10); !slices.Equal(got, want) {
		t.Errorf("records %q, want %q", got, want)
	}
	closeStore(t, s)
	if got := scanAll(t, opened(t, place), "", "", 10); !slices.Equal(got, want) {
		t.Errorf("records after reopening %q, want %q", got, want)
	}
}

func cancelled(t *testing.T, place Place) {
	s := opened(t, place)
	put(t, s, "a", "1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Get(ctx, []byte("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("Get: %v, want Canceled", err)
	}
	if _, err := s.Scan(ctx, nil, nil, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Scan: %v, want Canceled", err)
	}
	err := s.Commit(ctx, nil, writesOf("a", "2"))
	if !errors.Is(err, context.Canceled) || errors.Is(err, store.ErrOutcomeUnknown) {
		t.Errorf("Commit: %v, want Canceled", err)
	}
	if got := get(t, s, "a"); got != "1" {
		t.Errorf("a cancelled Commit wrote %q", got)
	}
}

func closed(t *testing.T, place Place) {
	s := open(t, place)
	put(t, s, "a", "1")
	closeStore(t, s)
	closeStore(t, s)
	if _, err := s.Get(t.Context(), []byte("a")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Get: %v, want ErrClosed", err)
	}
	if _, err := s.Scan(t.Context(), nil, nil, 1); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Scan: %v, want ErrClosed", err)
	}
	if err := s.Commit(t.Context(), nil, writesOf("a", "2")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Commit: %v, want ErrClosed", err)
	}
}

func reopened(t *testing.T, place Place) {
	var want []string
	for i := range 5 {
		s := open(t, place)
		if got := scanAll(t, s, "", "", 2); !slices.Equal(got, want) {
			t.Fatalf("records %q, want %q", got, want)
		}
		want = append(want, fmt.Sprint(i), fmt.Sprint("value ", i))
		put(t, s, want...)
		closeStore(t, s)
	}
}
