package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/opmint/opmint/api"
)

// What the bucket holds, in claims, and how long it takes to fill by one.
const (
	bucketSize     = 4
	bucketInterval = 15 * time.Minute
)

// A bucket is a counter with a bound on how often epochs are claimed: a TPM
// survives some 500,000 writes, and no client shall be able to wear it out. The
// first claim is that of the daemon's start and is not drawn from the bucket.
type bucket struct {
	counter counter
	now     func() time.Time

	started bool // the first claim was made; used by Next only

	mu   sync.Mutex
	full time.Time // when the bucket is full again
}

// Next claims an epoch. With an empty bucket it is [api.ErrOverloaded], and says
// when to come again.
func (b *bucket) Next(ctx context.Context) (uint64, error) {
	if !b.started {
		b.started = true
		return b.counter.Next(ctx)
	}
	// A TPM that does not answer is noticed here and draws nothing. A claim that
	// fails later has been drawn for good: it may have been a write.
	if err := b.counter.CanClaim(ctx); err != nil {
		return 0, err
	}
	if err := b.draw(1); err != nil {
		return 0, err
	}
	return b.counter.Next(ctx)
}

// CanClaim says why Next would fail now.
func (b *bucket) CanClaim(ctx context.Context) error {
	if err := b.draw(0); err != nil {
		return err
	}
	return b.counter.CanClaim(ctx)
}

// draw takes n claims, 0 or 1, out of a bucket that is not empty.
func (b *bucket) draw(n time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if b.full.Before(now) {
		b.full = now
	}
	if wait := b.full.Sub(now) - (bucketSize-1)*bucketInterval; wait > 0 {
		p := api.NewProblem(api.ErrOverloaded)
		p.RetryAfter = wait
		return fmt.Errorf("%w: each epoch is a write, which wears the TPM, and lately %d were claimed; the next can be in %v",
			p, bucketSize, wait.Round(time.Second))
	}
	b.full = b.full.Add(n * bucketInterval)
	return nil
}
