package main

import (
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

// A bucket bounds how often epochs are claimed: a TPM survives some 500,000
// writes, and no client shall be able to wear it out. The claim of the daemon's
// start is not drawn from it.
type bucket struct {
	now func() time.Time

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
	if wait := b.full.Sub(now) - (bucketSize-1)*bucketInterval; wait > 0 {
		p := api.NewProblem(api.ErrOverloaded)
		p.RetryAfter = wait
		return fmt.Errorf("%w: each epoch is a write, which wears the TPM, and lately %d were claimed; the next can be in %v",
			p, bucketSize, wait.Round(time.Second))
	}
	b.full = b.full.Add(n * bucketInterval)
	return nil
}
