package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/opmint/opmint/api"
)

// The bucket holds so many claims, and fills by one each interval.
const (
	bucketSize     = 4
	bucketInterval = 15 * time.Minute
)

// A bucket bounds how often epochs are claimed, since a TPM survives some 500,000
// writes and clients must not wear it out. The first claim, that of the daemon's
// start, is free.
type bucket struct {
	claimer
	now func() time.Time

	mu      sync.Mutex
	started bool
	full    time.Time // when the bucket is full again
}

// Next claims an epoch, or is [api.ErrOverloaded] while the bucket is empty.
func (b *bucket) Next(ctx context.Context) (uint64, error) {
	// A TPM that has gone is noticed first, so that tries do not empty the bucket.
	if b.started {
		if err := b.claimer.CanClaim(ctx); err != nil {
			return 0, err
		}
		if err := b.draw(); err != nil {
			return 0, err
		}
	}
	b.started = true
	return b.claimer.Next(ctx)
}

// CanClaim says why an epoch cannot be claimed now.
func (b *bucket) CanClaim(ctx context.Context) error {
	b.mu.Lock()
	err := b.empty(b.now())
	b.mu.Unlock()
	if err != nil {
		return err
	}
	return b.claimer.CanClaim(ctx)
}

// draw takes a claim out of the bucket. Whether the claim then succeeds does not
// matter: it may have cost a write all the same.
func (b *bucket) draw() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if err := b.empty(now); err != nil {
		return err
	}
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(bucketInterval)
	return nil
}

// empty returns nil if there is a claim in the bucket.
func (b *bucket) empty(now time.Time) error {
	wait := b.full.Add(-(bucketSize - 1) * bucketInterval).Sub(now)
	if wait <= 0 {
		return nil
	}
	p := api.NewProblem(api.ErrOverloaded)
	p.RetryAfter = wait
	return fmt.Errorf("%w: %d epochs were claimed in a short time, and each wears the TPM: the next can be in %v",
		p, bucketSize, wait.Round(time.Second))
}
