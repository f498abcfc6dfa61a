package tpm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// maxTries is how often a claim increments before it gives up.
const maxTries = 8

// maxBackOff bounds the pause between two tries.
const maxBackOff = 4 * time.Second

// sharedFor is how many claims in a row have to find the counter as they left
// it until the next ones do without the read before.
const sharedFor = 8

// Next claims a value of the counter: one that nobody else owns, and above all
// that this Counter has returned. Values in between may be skipped.
//
// It ends within 3 minutes. ErrBusy: somebody else incremented in between in
// each of 8 tries, or the TPM was busy. ErrOutcomeUnknown: what became of an
// increment is not known even on a second connection; the caller stops, and
// its next start reads the truth. ErrWentBack is for good: the caller takes
// note, and goes on with a new Counter if it does. When ctx ends, a claim ends
// between two commands, or without waiting for one that changes nothing.
func (c *Counter) Next(ctx context.Context) (uint64, error) {
	var owned uint64
	tries := 0
	err := c.device.operate(ctx, shortLimit, func(l *link) error {
		idx, err := c.attach(l)
		if err != nil {
			return err
		}
		for tries < maxTries {
			tries++
			began := time.Now()
			mine, err := c.try(l, idx)
			if err != nil {
				return err
			}
			if mine {
				owned = c.last
				return nil
			}
			if tries == maxTries {
				break
			}
			if err := l.pause(backOff(time.Since(began), tries)); err != nil {
				return err
			}
		}
		return fmt.Errorf("%w: somebody else incremented it in between, %d times", ErrBusy, maxTries)
	})
	if err != nil {
		return 0, fmt.Errorf("claim a value of counter 0x%08x: %w", uint32(c.handle), err)
	}
	return owned, nil
}

// backOff draws a pause before the next try from a window that begins with four
// times what a try took and doubles with each. Two that claim in step would go on
// to spoil each other's tries, and each try costs the TPM a write.
func backOff(took time.Duration, tries int) time.Duration {
	return rand.N(min(took<<(1+tries), maxBackOff) + 1)
}

// try increments the counter once and reports whether the value that it then
// shows, c.last, is owned: it is one more than before, and our increment was
// executed in between. As the counter never goes down, that was the only one.
func (c *Counter) try(l *link, idx *index) (mine bool, err error) {
	s, err := startSession(l, c.auth, nil)
	if err != nil {
		return false, err
	}
	defer s.close(l)
	// The value read last will do, however old. But where others increment too
	// it is likely to be too old, and each drop costs the TPM a write.
	if !c.fresh || c.shared > 0 {
		c.shared = max(0, c.shared-1)
		if err := c.read(l, idx, s); err != nil {
			return false, err
		}
	}
	before := c.last
	c.fresh = false
	if err := idx.increment(l, s); err != nil {
		return false, err
	}
	s.endsWithNext()
	after, err := idx.read(l, s)
	if isLost(err) && !errors.Is(err, context.Canceled) {
		return false, fmt.Errorf("%w: the counter was incremented, but its value is not known: %w", ErrOutcomeUnknown, err)
	}
	if err != nil {
		return false, err
	}
	if after <= before {
		c.back = &WentBackError{Index: uint32(c.handle), Before: before, Seen: after}
		return false, c.back
	}
	c.last, c.fresh = after, true
	if after != before+1 {
		c.shared = sharedFor
		return false, nil
	}
	return true, nil
}
