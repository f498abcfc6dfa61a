package ledger

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

// What one commit takes at most, by the estimates of the calls in it; well within
// what a store does.
const (
	commitOps  = store.MaxOps * 2 / 3
	commitSize = store.MaxCommit * 3 / 4
)

// call is a change on its way. All that arrive while a commit is under way wait for
// their turn together, and the first to get it decides and commits for all of them,
// one after the other, in one commit of the store. So the head, counts, accounts and
// chains are written once for all, no two changes ever conflict, and the hash chains
// cost no waiting: the rate grows with the number of callers.
type call struct {
	uid    uint32
	ops    int // records that it may write, about
	size   int // bytes that it may write, about
	decide func(t *tx) error
	taken  bool // it is being decided, or was refused; guarded by queue.mu
	err    error
	done   chan struct{}
}

// queue is where calls wait for their turn.
type queue struct {
	turn    chan struct{} // holds a token while somebody commits
	mu      sync.Mutex
	waiting []*call
	size    int            // of those who wait
	uids    map[uint32]int // how many of each wait
	closed  bool
}

// do makes a change: decide says what, given all that happened before. What it
// returns, and nil, stands once do returns it; it may be called again, and must not
// be trusted before. A refusal must come before any change.
func (k *Keeper) do(ctx context.Context, c *call) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("not begun: %w", err)
	}
	c.done = make(chan struct{})
	if err := k.enqueue(c); err != nil {
		return err
	}
	return k.wait(ctx, c)
}

// wait waits until a call is answered, or was withdrawn before its turn.
func (k *Keeper) wait(ctx context.Context, c *call) error {
	select {
	case k.queue.turn <- struct{}{}:
		k.lead(c)
		<-k.queue.turn
	case <-c.done:
	case <-ctx.Done():
		if k.withdraw(c) {
			return fmt.Errorf("withdrawn before its turn: %w", ctx.Err())
		}
	}
	<-c.done
	return unavailable(c.err)
}

func (k *Keeper) enqueue(c *call) error {
	q, limits := &k.queue, &k.limits
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return fmt.Errorf("%w: it is closed", ErrUnavailable)
	case q.uids[c.uid] >= limits.Waiting:
		return &Refusal{
			Reason: ErrOverloaded, Own: true, RetryAfter: time.Second,
			Detail: fmt.Sprintf("%d calls of uid %d wait to be written", q.uids[c.uid], c.uid),
		}
	case q.size > 0 && q.size+c.size > limits.WaitingBytes:
		return &Refusal{
			Reason: ErrOverloaded, RetryAfter: time.Second,
			Detail: fmt.Sprintf("%d bytes wait to be written", q.size),
		}
	}
	q.add(c)
	return nil
}

// last adds the last call that q takes, unless there was one.
func (q *queue) last(c *call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.closed = true
	q.add(c)
	return true
}

// add adds c to those who wait. It needs mu.
func (q *queue) add(c *call) {
	q.waiting = append(q.waiting, c)
	q.size += c.size
	q.uids[c.uid]++
}

// dequeued takes note that c waits no longer. It needs mu.
func (q *queue) dequeued(c *call) {
	c.taken = true
	q.size -= c.size
	if q.uids[c.uid]--; q.uids[c.uid] == 0 {
		delete(q.uids, c.uid)
	}
}

// take removes from those who wait as many as one commit carries, at least one. It
// needs mu.
func (q *queue) take() []*call {
	n, ops, size := 0, 0, 0
	for n < len(q.waiting) {
		c := q.waiting[n]
		if n > 0 && (ops+c.ops > commitOps || size+c.size > commitSize) {
			break
		}
		q.dequeued(c)
		ops, size, n = ops+c.ops, size+c.size, n+1
	}
	batch := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	return batch
}

// withdraw takes c out of those who wait, and says whether it was still there.
func (k *Keeper) withdraw(c *call) bool {
	q := &k.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if c.taken {
		return false
	}
	q.dequeued(c)
	q.waiting = slices.DeleteFunc(q.waiting, func(other *call) bool { return other == c })
	return true
}

// lead commits until c was among it. It needs the turn.
func (k *Keeper) lead(c *call) {
	// Whom the former commit answered may be about to call again. Let them join
	// in, or else commits of one alternate with those of all.
	runtime.Gosched()
	for {
		k.queue.mu.Lock()
		if c.taken {
			k.queue.mu.Unlock()
			return
		}
		batch := k.queue.take()
		k.queue.mu.Unlock()
		k.run(batch)
	}
}

// run decides and commits a batch, and hands out the outcomes. It needs the turn.
func (k *Keeper) run(batch []*call) {
	err := k.commit(batch)
	for errors.Is(err, store.ErrConflict) {
		// Another process keeps the ledger too, and was first.
		err = k.commit(batch)
	}
	for _, c := range batch {
		if err != nil {
			// A refusal too may rest on a change that has not happened now.
			c.err = err
		}
		close(c.done)
	}
}

// commit decides the calls one after the other, and commits what comes of it. A
// call that fails before it has changed anything leaves the others alone.
func (k *Keeper) commit(batch []*call) error {
	t := newTx(context.Background(), k.store)
	if err := t.begin(); err != nil {
		return err
	}
	t.now, t.wall = k.time.now(t.head.time), k.time.wall()
	ops := 0
	for _, c := range batch {
		ops += c.ops
	}
	t.values = make(map[string][]byte, ops)
	for _, c := range batch {
		before := t.head.events
		if c.err = c.decide(t); c.err != nil && t.head.events > before {
			return c.err
		}
	}
	if err := t.keepUp(); err != nil {
		return err
	}
	if !t.dirty {
		return nil
	}
	if err := t.commit(); err != nil {
		return err
	}
	k.committed(t)
	return nil
}

// unavailable says of an error of the store that the ledger cannot do its work.
func unavailable(err error) error {
	_, refused := errors.AsType[*Refusal](err)
	switch {
	case err == nil, refused, errors.Is(err, ErrUnavailable),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
