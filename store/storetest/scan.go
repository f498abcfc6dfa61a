package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/opmint/opmint/store"
)

func scan(t *testing.T, place Place) {
	s := opened(t, place)
	var all []string
	for _, key := range []string{"a", "b", "b\x00", "b/1", "b/10", "b/2", "b\xff", "b\xff\xff", "c"} {
		all = append(all, key, "v"+key)
	}
	put(t, s, all...)
	for _, test := range []struct {
		prefix, after string
		want          []string
	}{
		{"", "", all},
		{"b", "", all[2:16]},
		{"b/", "", all[6:12]},
		{"b/", "b/1", all[8:12]},
		{"b/", "b/11", all[10:12]},
		{"b/", "a", all[6:12]},
		{"b/", "c", nil},
		{"b/3", "", nil},
		{"b\xff", "", all[12:16]},
		{"", "b\xff", all[14:]},
		{"", "c", nil},
		{"d", "", nil},
	} {
		for _, limit := range []int{1, 2, 3, store.MaxScan} {
			if got := scanAll(t, s, test.prefix, test.after, limit); !slices.Equal(got, test.want) {
				t.Errorf("Scan(%q, %q, %d) = %q, want %q", test.prefix, test.after, limit, got, test.want)
			}
		}
	}
}

// scanOfLargeValues asks for more than should be in memory at once.
func scanOfLargeValues(t *testing.T, place Place) {
	s := opened(t, place)
	value := bytes.Repeat([]byte("v"), store.MaxValue)
	for i := range 8 {
		key := fmt.Appendf(nil, "%d", i)
		if err := s.Commit(t.Context(), nil, []store.Write{{Key: key, Value: value}}); err != nil {
			t.Fatal(err)
		}
	}
	records, err := s.Scan(t.Context(), nil, nil, store.MaxScan)
	if err != nil || len(records) == 0 || len(records) == 8 {
		t.Errorf("Scan returned %d records at once, %v", len(records), err)
	}
	if got := scanAll(t, s, "", "", store.MaxScan); len(got) != 16 {
		t.Errorf("Scan returned %d records, want 8", len(got)/2)
	}
}
