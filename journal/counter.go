package journal

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/opmint/opmint/keygen"
)

// CounterConfig is what a [Counter] needs.
type CounterConfig struct {
	Class keygen.Class // h, v or j

	// Standing is that of the TPM from which classes h and v claim; nil in
	// class j.
	Standing *Standing

	// Minter tells apart daemons in class h, where it is [Standing.Minter] until
	// a renewal, and daemon starts in v and j, where it is drawn at each.
	Minter [16]byte

	// Reason says why the first epoch is claimed, in 1 to 32 of a-z and '-':
	// start, renew, generation, clock, rollback. The later ones are used-up.
	Reason string

	// Observe returns what is seen of the machine; called before each claim,
	// by one goroutine at a time. Nil: nothing is seen.
	Observe func(ctx context.Context) Seen
}

// usedUp is the reason of all epochs of a Counter but the first.
const usedUp = "used-up"

// Counter is where a minter gets its epochs, for one identity. To mint under
// another identity, or for another reason, take another Counter. It may be used
// by several goroutines, and beside other Counters.
type Counter struct {
	journal  *Journal
	standing *Standing
	observe  func(ctx context.Context) Seen
	record   epochRecord // what all its epochs have in common
	claimed  bool        // the first epoch was; guarded by journal.turn
}

// Counter returns a counter of the given class. It is ErrRolledBack in class h
// if the TPM's counter is demoted, and [keygen.ErrInvalid] if the config is
// wrong.
func (j *Journal) Counter(c CounterConfig) (*Counter, error) {
	if err := c.valid(j); err != nil {
		return nil, fmt.Errorf("counter of class %v: %w", c.Class, err)
	}
	r := epochRecord{Class: c.Class, Minter: hex.EncodeToString(c.Minter[:]), Reason: c.Reason}
	var ek, incarnation [32]byte
	if c.Standing != nil {
		ek, incarnation = c.Standing.EK, c.Standing.Incarnation
		r.EK, r.Incarnation = hex.EncodeToString(ek[:]), hex.EncodeToString(incarnation[:])
	}
	r.Identity = keygen.NewIdentity(ek, incarnation, c.Minter)
	return &Counter{journal: j, standing: c.Standing, observe: c.Observe, record: r}, nil
}

func (c *CounterConfig) valid(j *Journal) error {
	switch c.Class {
	case keygen.ClassH, keygen.ClassV:
		if c.Standing == nil || c.Standing.journal != j {
			return fmt.Errorf("%w: it needs a TPM that was compared with this journal", keygen.ErrInvalid)
		}
	case keygen.ClassJ:
		if c.Standing != nil {
			return fmt.Errorf("%w: it has no TPM", keygen.ErrInvalid)
		}
	default:
		return fmt.Errorf("%w: there are h, v and j", keygen.ErrInvalid)
	}
	if c.Minter == [16]byte{} {
		return fmt.Errorf("%w: the minter was never drawn", keygen.ErrInvalid)
	}
	if err := validReason(c.Reason); err != nil {
		return fmt.Errorf("%w: %w", keygen.ErrInvalid, err)
	}
	if c.Reason == usedUp {
		return fmt.Errorf("%w: reason %s: it is for later epochs", keygen.ErrInvalid, usedUp)
	}
	if c.Class == keygen.ClassH && c.Standing.Demoted {
		return ErrRolledBack
	}
	return nil
}

// Identity returns whose epochs they are: of the TPM's endorsement key and
// incarnation, zero in class j, and the minter.
func (c *Counter) Identity() keygen.Identity { return c.record.Identity }

// Next claims an epoch and implements [keygen.Counter]: one above all epochs of
// this identity that were ever claimed, as far as the table in the package
// comment promises it. When it returns an epoch, the journal has it.
//
// ErrRolledBack: the TPM's counter went back, which is recorded. It is for good,
// for all Counters with this Standing: the caller compares anew and goes on in
// class v with a new minter. store.ErrOutcomeUnknown: the store has stopped;
// the next start reads what is true. Errors of the TPM are returned wrapped, and
// nothing is made up in its place. After any error Next may be called again.
//
// Once the TPM has done its part, writing it down is not given up with ctx, but
// after 10 seconds.
func (c *Counter) Next(ctx context.Context) (uint64, error) {
	epoch, err := c.next(ctx)
	if err != nil {
		return 0, fmt.Errorf("claim an epoch of class %s: %w", c.record.Class, err)
	}
	return epoch, nil
}

func (c *Counter) next(ctx context.Context) (uint64, error) {
	if err := c.journal.wait(ctx); err != nil {
		return 0, err
	}
	defer c.journal.done()
	r := c.record
	if c.observe != nil {
		r.Seen = c.observe(ctx).tidy()
	}
	if c.claimed {
		r.Reason = usedUp
	}
	if c.standing != nil {
		var err error
		if r.Counter, err = c.standing.claim(ctx, r.Class); err != nil {
			return 0, err
		}
		var cancel context.CancelFunc
		ctx, cancel = settling(ctx)
		defer cancel()
	}
	if err := c.journal.edit(ctx, func(e *edit) error { return c.enter(ctx, e, &r) }); err != nil {
		return 0, err
	}
	c.claimed = true
	return r.Epoch, nil
}

// enter numbers the epoch r and adds it to e.
func (c *Counter) enter(ctx context.Context, e *edit, r *epochRecord) error {
	var h head
	if err := e.need(ctx, headKey, &h); err != nil {
		return err
	}
	r.Claimed = c.journal.time()
	r.Epoch = r.Counter
	if r.Class != keygen.ClassH {
		r.Epoch = 1 + max(h.Highest, r.Counter)
	}
	if r.Epoch > keygen.MaxEpoch {
		return fmt.Errorf("%w: the highest epoch is %d", keygen.ErrExhausted, h.Highest)
	}
	if c.standing != nil {
		if err := c.standing.claimed(ctx, e, r); err != nil {
			return err
		}
	}
	return e.addEpoch(ctx, &h, r)
}

var _ keygen.Counter = (*Counter)(nil)
