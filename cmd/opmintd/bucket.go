package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/opmint/opmint/api"
)

// What a bucket holds, in claims, and how long it takes to fill by one: where each
// claim wears a TPM, and elsewhere for renewals, each of which is a line of the log
// and an identity that receivers remember.
const (
	bucketSize      = 4
	bucketInterval  = 15 * time.Minute
	renewalSize     = 16
	renewalInterval = time.Second
)

// A bucket bounds how often epochs are claimed: a TPM survives some 500,000
// writes, and no client shall be able to wear it out. The claim of the daemon's
// start is not drawn from it.
type bucket struct {
	now      func() time.Time
	size     time.Duration // in claims
	interval time.Duration

	mu   sync.Mutex
	full time.Time // when it is full again
}

// draw takes n claims, 0 or 1, out of a bucket that is not empty. An empty one is
// [api.ErrOverloaded], and says when to come again.
func (b *bucket) draw(n time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if b.full.Before(now) {
		b.full = now
	}
	if wait := b.full.Sub(now) - (b.size-1)*b.interval; wait > 0 {
		p := api.NewProblem(api.ErrOverloaded)
		p.RetryAfter = wait
		return fmt.Errorf("%w: lately %d epochs were claimed, each of which is a write; the next can be in %v",
			p, b.size, wait.Round(time.Second))
	}
	b.full = b.full.Add(n * b.interval)
	return nil
}
