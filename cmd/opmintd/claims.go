package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/tpm"
)

const (
	// claimTime bounds a claim, to less than the time for which the server holds
	// an answer open.
	claimTime = 15 * time.Second
	// lookTime bounds a look at the counter.
	lookTime = 5 * time.Second
	// busyTime is after what time it is worth asking a busy TPM again.
	busyTime = 5 * time.Second
	// maxClaims bounds how many claims are remembered.
	maxClaims = 4096
)

// A claimer is a keygen.Counter that can say beforehand that it would fail.
type claimer interface {
	keygen.Counter
	// CanClaim says why Next would fail now; nil if it would not, as far as one
	// can see. It looks, and uses up nothing.
	CanClaim(ctx context.Context) error
}

// A claim is an epoch and whose it is.
type claim struct {
	origin origin
	epoch  uint64
	at     time.Time
}

// claims is the TPM's counter as the daemon claims it, and what it has claimed.
type claims struct {
	counter *tpm.Counter
	log     *slog.Logger
	now     func() time.Time
	// fail ends the daemon. It is called with errors that are unreliable.
	fail func(error)

	mu   sync.Mutex
	last origin  // for whom was claimed last
	list []claim // oldest first, at most maxClaims
}

// originKey is the key in a context of for whom an epoch is claimed, where that is
// not the one it was claimed for last.
type originKey struct{}

// Next claims an epoch. Once it has begun it does not end with ctx: a client that
// goes away would burn the number.
func (c *claims) Next(ctx context.Context) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("claim an epoch: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTime)
	defer cancel()
	epoch, err := c.counter.Next(ctx)
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
	if len(c.list) == maxClaims {
		c.list = append(c.list[:0], c.list[1:]...)
	}
	c.list = append(c.list, claim{c.last, epoch, c.now()})
	return c.last
}

// find returns the claim of an epoch for an identity.
func (c *claims) find(id keygen.Identity, epoch uint64) (claim, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.list) - 1; i >= 0; i-- {
		if c.list[i].epoch == epoch {
			return c.list[i], c.list[i].origin.identity() == id
		}
	}
	return claim{}, false
}

// CanClaim says why Next would fail now.
func (c *claims) CanClaim(ctx context.Context) error {
	_, err := c.look(ctx)
	return err
}

// look reads the counter.
func (c *claims) look(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	value, err := c.counter.Read(ctx)
	if err != nil {
		return 0, c.judge(err)
	}
	return value, nil
}

// judge ends the daemon if err says that the counter cannot be relied on, and
// tells clients when to come again if that may help.
func (c *claims) judge(err error) error {
	if unreliable(err) {
		c.fail(err)
		return err
	}
	if !tpm.Temporary(err) {
		return err
	}
	p := api.NewProblem(api.ErrUnavailable)
	p.RetryAfter = busyTime
	return fmt.Errorf("%w: %w", p, err)
}

// current returns for whom an epoch was claimed last.
func (c *claims) current() origin {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}
