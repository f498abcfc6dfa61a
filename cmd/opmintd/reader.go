package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// readTime bounds one reading of the counter.
const readTime = 3 * time.Second

// A reader reads a counter for all who ask. A TPM does one thing at a time, and
// slowly, so those who ask while a reading is under way share the next one:
// however many ask, a claim waits for one reading at most.
type reader struct {
	counter func(context.Context) (uint64, error)
	turn    chan struct{} // has room for one: the reading that is under way

	mu   sync.Mutex
	next *reading // has not begun yet; nil if nobody waits for it
}

// reading is a value of the counter, once done is closed.
type reading struct {
	done  chan struct{}
	value uint64
	err   error
}

func newReader(counter func(context.Context) (uint64, error)) *reader {
	return &reader{counter: counter, turn: make(chan struct{}, 1)}
}

// read returns a value that was read after read was called.
func (r *reader) read(ctx context.Context) (uint64, error) {
	r.mu.Lock()
	mine := r.next
	if mine == nil {
		mine = &reading{done: make(chan struct{})}
		r.next = mine
		go r.carryOut(mine)
	}
	r.mu.Unlock()
	select {
	case <-mine.done:
		return mine.value, mine.err
	case <-ctx.Done():
		return 0, fmt.Errorf("wait for the counter to be read: %w", ctx.Err())
	}
}

// carryOut reads the counter when the reading before has ended.
func (r *reader) carryOut(mine *reading) {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	r.mu.Lock()
	r.next = nil
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	mine.value, mine.err = r.counter(ctx)
	close(mine.done)
}
