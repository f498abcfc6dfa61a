package storetest

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/opmint/opmint/store"
	"pgregory.net/rapid"
)

// model compares a store with a map, over random calls and reopenings.
func model(t *testing.T, newPlace func(t *testing.T) Place) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{place: newPlace(t), want: map[string]string{}}
		m.store = open(rt, m.place)
		rt.Cleanup(func() { closeStore(rt, m.store) })
		rt.Repeat(map[string]func(*rapid.T){
			"commit": m.commit,
			"get":    m.get,
			"scan":   m.scan,
			"reopen": m.reopen,
			"":       m.compare,
		})
	})
}

type machine struct {
	place Place
	store store.Store
	want  map[string]string
}

var (
	// Few enough keys to meet again, among them prefixes of each other.
	keys = rapid.StringOfN(rapid.RuneFrom([]rune("a/\x00")), 1, 4, -1)
	// Longer than a page of bbolt, now and then.
	values = rapid.OneOf(
		rapid.StringN(1, 8, -1),
		rapid.Map(rapid.IntRange(1000, 20000), func(n int) string { return strings.Repeat("v", n) }),
	)
)

func (m *machine) commit(t *rapid.T) {
	writes := rapid.MapOfN(keys, rapid.OneOf(values, rapid.Just("")), 0, 6).Draw(t, "writes")
	expected := rapid.MapOfN(keys, rapid.OneOf(rapid.Just("as it is"), rapid.Just("else"), rapid.Just("")), 0, 2).
		Draw(t, "checks")
	var checks []store.Check
	conflict := -1
	for i, key := range slices.Sorted(maps.Keys(expected)) {
		value := expected[key]
		if value == "as it is" {
			value = m.want[key]
		}
		if conflict < 0 && value != m.want[key] {
			conflict = i
		}
		checks = append(checks, checksOf(key, value)...)
	}
	var pairs []string
	for key, value := range writes {
		pairs = append(pairs, key, value)
	}
	err := m.store.Commit(t.Context(), checks, writesOf(pairs...))
	if conflict >= 0 {
		var c *store.ConflictError
		if !errors.As(err, &c) || c.Check != conflict {
			t.Fatalf("Commit: %v, want a conflict at %d", err, conflict)
		}
		return
	}
	if err != nil {
		t.Fatalf("Commit: %v", err)
	}
	for key, value := range writes {
		m.want[key] = value
		if value == "" {
			delete(m.want, key)
		}
	}
}

func (m *machine) get(t *rapid.T) {
	key := keys.Draw(t, "key")
	if got := get(t, m.store, key); got != m.want[key] {
		t.Fatalf("Get(%q) = %.80q, want %.80q", key, got, m.want[key])
	}
}

func (m *machine) scan(t *rapid.T) {
	prefix := rapid.OneOf(rapid.Just(""), keys).Draw(t, "prefix")
	after := rapid.OneOf(rapid.Just(""), keys).Draw(t, "after")
	limit := rapid.IntRange(1, 5).Draw(t, "limit")
	var want []string
	for _, key := range slices.Sorted(maps.Keys(m.want)) {
		if strings.HasPrefix(key, prefix) && key > after {
			want = append(want, key, m.want[key])
		}
	}
	if got := scanAll(t, m.store, prefix, after, limit); !slices.Equal(got, want) {
		t.Fatalf("Scan(%q, %q, %d) = %.80q, want %.80q", prefix, after, limit, got, want)
	}
}

func (m *machine) reopen(t *rapid.T) {
	closeStore(t, m.store)
	m.store = open(t, m.place)
}

func (m *machine) compare(t *rapid.T) {
	var want []string
	for _, key := range slices.Sorted(maps.Keys(m.want)) {
		want = append(want, key, m.want[key])
	}
	if got := scanAll(t, m.store, "", "", store.MaxScan); !slices.Equal(got, want) {
		t.Fatalf("records %.200q, want %.200q", got, want)
	}
}
