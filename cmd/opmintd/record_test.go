package main

import (
	"sync"
	"testing"

	"github.com/opmint/opmint/keygen"
)

func parse(texts []string) ([]keygen.Name, error) {
	names := make([]keygen.Name, len(texts))
	for i, text := range texts {
		var err error
		if names[i], err = keygen.Parse(text); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// record is all names that a test has got.
type record struct {
	t    *testing.T
	mu   sync.Mutex
	seen map[number]bool
}

// number is what no two names have in common, even if their tags differ.
type number struct {
	identity   keygen.Identity
	epoch, seq uint64
}

func newRecord(t *testing.T) *record { return &record{t: t, seen: map[number]bool{}} }

// add fails the test if a name was there before.
func (r *record) add(names ...keygen.Name) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range names {
		k := number{n.Identity(), n.Epoch(), n.Seq()}
		if r.seen[k] {
			r.t.Errorf("%s was minted twice", n)
		}
		r.seen[k] = true
	}
}
