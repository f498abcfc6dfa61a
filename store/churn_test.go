package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestChurn lets a tree grow, be purged and shrink again, with keys and values
// of all sizes. Whatever bbolt makes of it must be what verify expects.
func TestChurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	s := openTest(t, path)
	r := rand.New(rand.NewPCG(1, 2))
	const rounds = 60
	for round := range rounds {
		writes := map[string][]byte{}
		for range 400 {
			n := r.IntN(4000)
			key := fmt.Sprintf("%05d%s", n, strings.Repeat("k", n%7*150))
			value := make([]byte, 1+r.IntN(1<<r.IntN(14)))
			if r.IntN(rounds) < round-10 {
				value = nil
			}
			writes[key] = value
		}
		var batch []Write
		for key, value := range writes {
			batch = append(batch, Write{Key: []byte(key), Value: value})
		}
		if err := s.Commit(t.Context(), nil, batch); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := verifyBytes(data); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

// TestLostPageWrites lets the disk lose the write of each page of each of many
// transactions, though it said that all were synced. The page is then as it
// was, and well-formed: verify must notice it, unless it makes no difference.
func TestLostPageWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	s := openTest(t, path)
	records, _ := sampleRecords()
	if err := s.Commit(t.Context(), nil, records); err != nil {
		t.Fatal(err)
	}
	before, noticed := []byte(nil), 0
	for round := range 40 {
		w := &records[round%len(records)]
		w.Value = fmt.Append(nil, round)
		if err := s.Commit(t.Context(), nil, []Write{*w}); err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for at := 2 * pageSize; at < len(before); at += pageSize {
			bad := bytes.Clone(after)
			copy(bad[at:at+pageSize], before[at:])
			if bytes.Equal(bad, after) {
				continue
			}
			if verifyBytes(bad) == nil {
				intact(t, bad, records)
			} else {
				noticed++
			}
		}
		before = after
	}
	if noticed < 40 {
		t.Errorf("%d lost writes noticed: fewer than transactions", noticed)
	}
}
