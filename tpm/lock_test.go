package tpm

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// TestDefinedByTwoAtOnce has a daemon and an operator define the index from one
// state folder, as at the first boot.
func TestDefinedByTwoAtOnce(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		for range 20 {
			dir := t.TempDir()
			var wg sync.WaitGroup
			var changed atomic.Int32
			for range 4 {
				c := r.newCounter(dir)
				wg.Go(func() {
					if err := c.Define(context.Background()); err != nil {
						t.Error(err)
					}
					if c.Changed() {
						changed.Add(1)
					}
				})
			}
			wg.Wait()
			if n := changed.Load(); n != 1 {
				t.Errorf("%d of 4 say that they defined it", n)
			}
			r.undefine()
		}
	})
}

func TestStateFolderIsLocked(t *testing.T) {
	r := referenceRig(t)
	dir := t.TempDir()
	unlock, err := lockFolder(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.newCounter(dir).Define(ctx); !errors.Is(err, ErrBusy) {
		t.Errorf("define beside another: %v, want ErrBusy", err)
	}
	unlock()
	if err := r.newCounter(dir).Define(t.Context()); err != nil {
		t.Error(err)
	}
}
