//go:build !race

// The race detector makes a sync.Pool drop what it is given, at random.

package api_test

import (
	"testing"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

func TestMinterAllocatesNothing(t *testing.T) {
	m, _ := (&lender{class: 'j', life: time.Second}).minter(t)
	dst := make([]byte, 0, keygen.Length)
	// The average is rounded down: there are a few for each run of names.
	if allocs := testing.AllocsPerRun(10*api.RunLength, func() {
		var err error
		if dst, err = m.AppendName(t.Context(), dst[:0]); err != nil {
			t.Fatal(err)
		}
	}); allocs != 0 {
		t.Errorf("%v allocations a name", allocs)
	}
}
