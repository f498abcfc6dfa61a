package journal

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/opmint/opmint/store"
)

// Bounds of one commit of a batcher.
const (
	maxBatch  = 1024             // callers
	batchTime = 20 * time.Second // for the store
)

// batcher commits the changes of all who call at once together: they would
// contradict each other in the counts that they all keep up, and a commit costs the
// same for one as for many. It has no goroutine of its own: of those who wait, the
// first to get the turn does it for all of them.
type batcher struct {
	store  store.Store
	failed func(error)   // of IntentsConfig
	turn   chan struct{} // holds a token while somebody has the turn

	mu      sync.Mutex
	waiting []*change
}

// change is what one caller wants to do.
type change struct {
	// do makes the change in a step that sees all before it. It reads and decides
	// first, and an error changes nothing. It is called again where what was read
	// does not stand any more.
	do    func(*step) error
	taken bool  // it is part of a batch; guarded by batcher.mu
	err   error // once done is closed
	done  chan struct{}
}

func newBatcher(s store.Store, failed func(error)) *batcher {
	return &batcher{store: s, failed: failed, turn: make(chan struct{}, 1)}
}

// commit makes a change, durably. An error of do is returned as it is; with any
// other the change was not made, but for a store.ErrOutcomeUnknown. A context that
// ends before the turn of the change withdraws it, and has no effect afterwards.
func (b *batcher) commit(ctx context.Context, do func(*step) error) error {
	c := &change{do: do, done: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, c)
	b.mu.Unlock()
	select {
	case b.turn <- struct{}{}:
		b.lead(ctx, c)
		<-b.turn
	case <-c.done:
	case <-ctx.Done():
		if b.withdraw(c) {
			return fmt.Errorf("wait for other changes: %w", ctx.Err())
		}
	}
	<-c.done
	return c.err
}

// lead runs batches until c was in one. It needs the turn.
func (b *batcher) lead(ctx context.Context, c *change) {
	// Those who were answered just now may come again: let them join in.
	runtime.Gosched()
	for {
		b.mu.Lock()
		if c.taken {
			b.mu.Unlock()
			return
		}
		batch := b.waiting[:min(len(b.waiting), maxBatch):min(len(b.waiting), maxBatch)]
		b.waiting = b.waiting[len(batch):]
		for _, c := range batch {
			c.taken = true
		}
		b.mu.Unlock()
		b.run(ctx, batch)
	}
}

// withdraw takes c out of those who wait, and says whether it was still there.
func (b *batcher) withdraw(c *change) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.taken {
		return false
	}
	b.waiting = slices.DeleteFunc(b.waiting, func(other *change) bool { return other == c })
	return true
}

// run makes the changes of a batch, and hands out the outcomes. It needs the turn.
func (b *batcher) run(ctx context.Context, batch []*change) {
	err := store.ErrConflict
	for errors.Is(err, store.ErrConflict) {
		d := newDraft(b.store)
		for _, c := range batch {
			s := d.step()
			if c.err = c.do(s); c.err == nil {
				s.take()
			}
		}
		err = b.write(ctx, d)
	}
	if err != nil && b.failed != nil {
		b.failed(err)
	}
	for _, c := range batch {
		if err != nil {
			// Those too that changed nothing: what they saw may be what is not
			// there now.
			c.err = err
		}
		close(c.done)
	}
}

// write commits a draft, whoever of its callers has gone.
func (b *batcher) write(ctx context.Context, d *draft) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchTime)
	defer cancel()
	return d.commit(ctx)
}
