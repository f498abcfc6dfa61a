package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/tpm"
)

// busyTime is when to ask a busy TPM again.
const busyTime = 5 * time.Second

// A counter is a [keygen.Counter] that can say beforehand whether it would fail.
type counter interface {
	keygen.Counter

	// CanClaim says why Next would fail now, as far as that can be seen; nil if
	// it would not. It uses up nothing. It may be called by many goroutines, also
	// while Next is running.
	CanClaim(ctx context.Context) error
}

// claimer is the TPM's counter as the daemon uses it. A claim that has begun is
// carried through, also if whoever wanted it goes away or loses patience: given up
// between increment and reading, it would be a number lost, or worse, one of which
// nobody knows whether it is. Then the next who wants one gets it.
type claimer struct {
	ctx    context.Context // of claims: ends with the daemon
	tpm    keygen.Counter
	reader *reader
	claims *claims
	log    *slog.Logger
	fail   func(error) // ends the daemon, for an error that is unreliable

	pending chan result // of a claim that nobody has taken yet; used by Next only
}

// result is how a claim ended.
type result struct {
	epoch uint64
	err   error
}

// newClaimer returns a claimer that has claimed nothing yet. Its claims end with
// ctx.
func newClaimer(ctx context.Context, c *tpm.Counter, claims *claims, log *slog.Logger, fail func(error)) *claimer {
	return &claimer{ctx: ctx, tpm: c, reader: newReader(c.Read), claims: claims, log: log, fail: fail}
}

// Next claims an epoch, for whom the context says (see originKey).
func (c *claimer) Next(ctx context.Context) (uint64, error) {
	for {
		begins := c.pending == nil
		if begins {
			if err := ctx.Err(); err != nil {
				return 0, fmt.Errorf("claim an epoch: %w", err)
			}
			c.pending = make(chan result, 1)
			go c.claim(c.pending)
		}
		select {
		case r := <-c.pending:
			c.pending = nil
			if r.err != nil && !begins {
				continue // why it failed then is no reason to fail now
			}
			if r.err != nil {
				return 0, r.err
			}
			o := c.claims.add(ctx, r.epoch)
			c.log.Info("claimed an epoch", "epoch", r.epoch, "identity", o.identity())
			return r.epoch, nil
		case <-ctx.Done():
			return 0, c.judge(fmt.Errorf("%w: the claim of an epoch goes on: %w", tpm.ErrBusy, ctx.Err()))
		}
	}
}

// claim carries a claim through, which is bounded by the TPM's own limits.
func (c *claimer) claim(done chan<- result) {
	epoch, err := c.tpm.Next(c.ctx)
	if err != nil {
		c.log.Error("claimed no epoch", "error", err)
		err = c.judge(err)
	}
	done <- result{epoch, err}
}

// CanClaim says why Next would fail now.
func (c *claimer) CanClaim(ctx context.Context) error {
	_, err := c.read(ctx)
	return err
}

// read returns the counter's value.
func (c *claimer) read(ctx context.Context) (uint64, error) {
	value, err := c.reader.read(ctx)
	if err != nil {
		return 0, c.judge(err)
	}
	return value, nil
}

// judge ends the daemon if err says that the counter is unreliable. Otherwise it
// adds when to come again, if that may help.
func (c *claimer) judge(err error) error {
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
