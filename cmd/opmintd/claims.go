package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/opmint/opmint/keygen"
)

// maxClaims bounds how many claims are remembered.
const maxClaims = 4096

// claim is an epoch that was claimed.
type claim struct {
	origin origin // whose it is
	epoch  uint64
	at     time.Time
}

// claims is what the daemon remembers of the epochs that it has claimed.
type claims struct {
	mu   sync.Mutex
	last origin  // whose epochs are claimed, unless a context says otherwise
	list []claim // the last maxClaims, oldest first
}

// originKey is the key of a context's value, an origin, that tells a claim whose
// epochs are claimed from now on. It is no argument because the minter, which
// passes the context on, knows identities only, and not what they are made of.
type originKey struct{}

// add remembers an epoch that was claimed now, and returns whose it is.
func (c *claims) add(ctx context.Context, epoch uint64) origin {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o, ok := ctx.Value(originKey{}).(origin); ok {
		c.last = o
	}
	forget := max(0, len(c.list)+1-maxClaims)
	c.list = append(c.list[forget:], claim{c.last, epoch, time.Now()})
	return c.last
}

// find returns the claim of an epoch for an identity.
func (c *claims) find(id keygen.Identity, epoch uint64) (claim, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, made := range slices.Backward(c.list) {
		if made.epoch == epoch {
			return made, made.origin.identity() == id
		}
	}
	return claim{}, false
}

// current returns whose epochs are claimed.
func (c *claims) current() origin {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}
