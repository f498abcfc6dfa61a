package ledger_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/opmint/opmint/ledger"
)

// TestTwoKeepers: two that keep one ledger, as two machines do over one store, run no
// name twice, and what both did is one log.
func TestTwoKeepers(t *testing.T) {
	r := newRig(t)
	other, err := ledger.Open(t.Context(), r.store, r.config)
	if err != nil {
		t.Fatal(err)
	}
	keepers := []*ledger.Keeper{r.Keeper, other}
	const callers, names = 8, 50
	var ran [names]atomic.Int32
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			k := keepers[caller%2]
			for i := range names {
				name := mint("twins", 1, uint64(i))
				op, err := k.As(1).Begin(t.Context(), ref(name), attempt(fmt.Sprint("caller ", caller)))
				switch {
				case errors.Is(err, ledger.ErrInProgress) || err == nil && op.Replayed:
				case err != nil:
					t.Errorf("Begin: %v", err)
				default:
					ran[i].Add(1)
					if _, err := keepers[(caller+i)%2].As(1).Finish(t.Context(), op.Ref, op.Hold(), ledger.Applied, nil); err != nil {
						t.Errorf("Finish: %v", err)
					}
				}
				if _, err := k.Step(t.Context()); err != nil {
					t.Errorf("Step: %v", err)
				}
			}
		})
	}
	all.Wait()
	for i := range ran {
		if n := ran[i].Load(); n != 1 {
			t.Errorf("name %d ran %d times", i, n)
		}
	}
	readLog(t, other, ledger.LogQuery{All: true})
	r.work()
	rebuilt(t, r.store)
}
