package store

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestMemtable compares one with a map.
func TestMemtable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, want := newMemtable(), map[string]string{}
		for _, key := range rapid.SliceOf(rapid.StringOfN(rapid.RuneFrom([]rune("ab\x00")), 1, 5, -1)).Draw(t, "keys") {
			value := rapid.StringN(0, 3, -1).Draw(t, "value")
			m.put([]byte(key), []byte(value))
			want[key] = value
		}
		var keys []string
		size := 0
		for n := m.first(); n != nil; n = n.after() {
			keys, size = append(keys, string(n.key)), size+len(n.key)+len(n.value)
			if string(n.value) != want[string(n.key)] {
				t.Fatalf("%q is %q, want %q", n.key, n.value, want[string(n.key)])
			}
		}
		if !slices.Equal(keys, slices.Sorted(maps.Keys(want))) || size != m.size {
			t.Fatalf("keys %q of %d bytes, want those of %q", keys, m.size, want)
		}
		probe := rapid.StringN(0, 5, -1).Draw(t, "probe")
		value, known := m.get([]byte(probe))
		if wanted, ok := want[probe]; known != ok || string(value) != wanted {
			t.Fatalf("%q is %q, %v", probe, value, known)
		}
	})
}
