package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/tpm"
)

const (
	// claimTime bounds a claim, to less than the server's time for an answer.
	claimTime = 15 * time.Second
	// busyTime is when to ask a busy TPM again.
	busyTime = 5 * time.Second
	// maxClaims bounds how many claims are remembered.
	maxClaims = 4096
)

// A counter is a [keygen.Counter] that can say beforehand whether it would fail.
type counter interface {
	keygen.Counter

	// CanClaim says why Next would fail now, as far as that can be seen; nil if
	// it would not. It uses up nothing. It may be called by many goroutines, also
	// while Next is running.
	CanClaim(ctx context.Context) error
}

// claim is an epoch that was claimed.
type claim struct {
	origin origin // whose it is
	epoch  uint64
	at     time.Time
}

// claims is the TPM's counter, and what was claimed from it.
type claims struct {
	counter *tpm.Counter
	reader  *reader
	log     *slog.Logger
	fail    func(error) // ends the daemon, for an error that is unreliable

	mu   sync.Mutex
	last origin  // for whom an epoch is claimed, unless Next is told
	list []claim // the last maxClaims, oldest first
}

// newClaims returns the claims of a daemon that has made none yet.
func newClaims(c *tpm.Counter, o origin, log *slog.Logger, fail func(error)) *claims {
	return &claims{counter: c, reader: newReader(c.Read), log: log, fail: fail, last: o}
}

// originKey is the key of a context's value that tells Next for whom it claims
// from now on. The minter, which passes the context on, knows identities only.
type originKey struct{}

// Next claims an epoch. A claim that has begun does not end with ctx, but within
// claimTime: otherwise each client that goes away could burn a number.
func (c *claims) Next(ctx context.Context) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("claim an epoch: %w", err)
	}
	claiming, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTime)
	defer cancel()
	epoch, err := c.counter.Next(claiming)
	if err != nil {
		c.log.Error("claimed no epoch", "error", err)
		return 0, c.judge(err)
	}
	o := c.note(ctx, epoch)
	c.log.Info("claimed an epoch", "epoch", epoch, "identity", o.identity())
	return epoch, nil
}

// note remembers a claim and returns for whom it is.
func (c *claims) note(ctx context.Context, epoch uint64) origin {
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

// current returns for whom an epoch was claimed last.
func (c *claims) current() origin {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// CanClaim says why Next would fail now.
func (c *claims) CanClaim(ctx context.Context) error {
	_, err := c.read(ctx)
	return err
}

// read returns the counter's value.
func (c *claims) read(ctx context.Context) (uint64, error) {
	value, err := c.reader.read(ctx)
	if err != nil {
		return 0, c.judge(err)
	}
	return value, nil
}

// judge ends the daemon if err says that the counter is unreliable. Otherwise it
// adds when to come again, if that may help.
func (c *claims) judge(err error) error {
	switch {
	case unreliable(err):
		c.fail(err)
	case tpm.Temporary(err):
		p := api.NewProblem(api.ErrUnavailable)
		p.RetryAfter = busyTime
		return fmt.Errorf("%w: %w", p, err)
	}
	return err
}
