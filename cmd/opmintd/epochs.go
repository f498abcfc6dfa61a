package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/tpm"
)

// busyTime is when to ask a busy TPM again.
const busyTime = 5 * time.Second

// epochs is where the minter of one life has its epochs from: the journal's
// counter, with a bound on how often it is asked. A claim that has begun is carried
// through, also if whoever wanted it goes away or loses patience: given up between
// increment and reading, it would be a number lost, or worse, one of which nobody
// knows whether it is. Then the next who wants one gets it.
type epochs struct {
	mint     *mint
	counter  keygen.Counter  // of the journal
	identity keygen.Identity // whose epochs they are
	log      *slog.Logger
	bounded  bool // claims draw from the bucket
	opened   bool // the first was claimed: whoever began the life has drawn for it

	pending chan result // of a claim that nobody has taken yet
}

// result is how a claim ended.
type result struct {
	epoch uint64
	err   error
}

// Next claims an epoch. With an empty bucket it is [api.ErrOverloaded], and says
// when to come again.
func (e *epochs) Next(ctx context.Context) (uint64, error) {
	for {
		begins := e.pending == nil
		if begins {
			if err := e.begin(ctx); err != nil {
				return 0, err
			}
		}
		select {
		case r := <-e.pending:
			e.pending = nil
			if r.err != nil && !begins {
				continue // why it failed then is no reason to fail now
			}
			e.opened = e.opened || r.err == nil
			return r.epoch, r.err
		case <-ctx.Done():
			return 0, e.mint.judgeError(fmt.Errorf("%w: the claim of an epoch goes on: %w", tpm.ErrBusy, ctx.Err()))
		}
	}
}

// begin begins a claim, if one may be made.
func (e *epochs) begin(ctx context.Context) error {
	if err := cmp.Or(ctx.Err(), context.Cause(e.mint.claiming)); err != nil {
		return fmt.Errorf("claim an epoch: %w", err)
	}
	if e.opened && e.bounded {
		// A TPM that does not answer is noticed here and draws nothing. A claim
		// that fails later has been drawn for good: it may have been a write.
		if err := e.mint.CanClaim(ctx); err != nil {
			return err
		}
		if err := e.mint.bucket.draw(1); err != nil {
			return err
		}
	}
	e.pending = make(chan result, 1)
	go e.claim(e.pending)
	return nil
}

// claim carries a claim through, which is bounded by the TPM's own limits.
func (e *epochs) claim(done chan<- result) {
	epoch, err := e.mint.meter.claim(func() (uint64, error) { return e.counter.Next(e.mint.claiming) })
	if err != nil {
		e.log.Error("claimed no epoch", "error", err)
		err = e.mint.judgeError(err)
	} else {
		e.log.Info("claimed an epoch", "epoch", epoch)
		if r := e.mint.receiver.Load(); r != nil {
			r.claimed(e.identity, epoch)
		}
	}
	done <- result{epoch, err}
}

// judgeError ends the daemon if err says that TPM or journal are unreliable.
// Otherwise it adds when to come again, if that may help.
func (m *mint) judgeError(err error) error {
	switch {
	case unreliable(err):
		m.fail(err)
	case errors.Is(err, journal.ErrRolledBack):
	case tpm.Temporary(err):
		p := api.NewProblem(api.ErrUnavailable)
		p.RetryAfter = busyTime
		return fmt.Errorf("%w: %w", p, err)
	}
	return err
}
