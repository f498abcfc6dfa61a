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
	came    int           // who came since the last batch
	arrival chan struct{} // has room for one: somebody came

	// Of the last batch; of who has the turn.
	size int
	took time.Duration // in the store
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
	return &batcher{store: s, failed: failed, turn: make(chan struct{}, 1), arrival: make(chan struct{}, 1)}
}

// commit makes a change, durably. An error of do is returned as it is; with any
// other the change was not made, but for a store.ErrOutcomeUnknown. A context that
// ends before the turn of the change withdraws it, and has no effect afterwards.
func (b *batcher) commit(ctx context.Context, do func(*step) error) error {
	c := &change{do: do, done: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, c)
	b.came++
	b.mu.Unlock()
	select {
	case b.arrival <- struct{}{}:
	default:
	}
	select {
	case b.turn <- struct{}{}:
		b.lead(ctx, c)
	case <-c.done:
	case <-ctx.Done():
		if b.withdraw(c) {
			return fmt.Errorf("wait for other changes: %w", ctx.Err())
		}
	}
	<-c.done
	return c.err
}

// lead runs batches until c was in one, and gives back the turn.
func (b *batcher) lead(ctx context.Context, c *change) {
	defer func() { <-b.turn }()
	b.gather()
	for {
		batch := b.take(c)
		if batch == nil {
			return
		}
		b.run(ctx, batch)
	}
}

// gather waits for those who were answered just now, who may come again: else
// batches of one half of the callers alternate with those of the other, and each
// half waits for two. It waits no longer than a quarter of what a batch takes.
func (b *batcher) gather() {
	runtime.Gosched()
	over := time.NewTimer(b.took / 4)
	defer over.Stop()
	for {
		b.mu.Lock()
		all := b.came >= b.size
		b.mu.Unlock()
		if all {
			return
		}
		select {
		case <-b.arrival:
		case <-over.C:
			return
		}
	}
}

// take removes a batch from those who wait, and nothing once c was in one.
func (b *batcher) take(c *change) []*change {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.taken {
		return nil
	}
	n := min(len(b.waiting), maxBatch)
	batch := b.waiting[:n:n]
	b.waiting = b.waiting[n:]
	for _, c := range batch {
		c.taken = true
	}
	return batch
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
	err := errBrokenOff
	defer func() { b.answer(batch, err) }()
	for retry := true; retry; retry = errors.Is(err, store.ErrConflict) {
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
}

// errBrokenOff is the outcome of changes beside one that panicked.
var errBrokenOff = errors.New("the change broke off")

// answer hands out the outcomes of a batch.
func (b *batcher) answer(batch []*change, err error) {
	b.mu.Lock()
	b.size, b.came = len(batch), 0
	b.mu.Unlock()
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
	began := time.Now()
	defer func() { b.took = time.Since(began) }()
	return d.commit(ctx)
}
