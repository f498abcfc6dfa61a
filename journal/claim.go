package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opmint/opmint/keygen"
)

// claim claims a value of the counter, above all that was known of it. The
// caller has the turn.
func (s *Standing) claim(ctx context.Context, c keygen.Class) (uint64, error) {
	if s.back != nil {
		return 0, s.back
	}
	known, err := s.announce(ctx, c)
	if err != nil {
		return 0, err
	}
	value, err := s.tpm.Next(ctx)
	if err != nil {
		return 0, s.judge(ctx, err)
	}
	if value <= known {
		return 0, s.wentBack(ctx, known+1, value)
	}
	return value, nil
}

// announce writes down that a claim is about to begin, and returns the highest
// value known.
func (s *Standing) announce(ctx context.Context, c keygen.Class) (known uint64, err error) {
	err = s.journal.edit(ctx, func(e *edit) error {
		var r counterRecord
		if err := e.need(ctx, s.key(), &r); err != nil {
			return err
		}
		if r.Demoted && c == keygen.ClassH {
			return ErrRolledBack
		}
		begun := r
		begun.Claiming = true
		if r.Claiming {
			// A claim failed. Reading bounds what it can have left, and a TPM
			// that does not answer costs no write.
			value, err := s.read(ctx, r.Seen)
			if err != nil {
				return err
			}
			begun.Seen = value
		}
		known = begun.Seen
		if begun == r {
			return nil
		}
		return e.put(s.key(), &begun)
	})
	return known, err
}

// Read returns the value that the TPM's counter shows, and 0 in class j. It claims
// nothing and writes nothing, unless the counter went back: that is recorded, and
// is ErrRolledBack, as with Next.
func (c *Counter) Read(ctx context.Context) (uint64, error) {
	if c.standing == nil {
		return 0, nil
	}
	value, err := c.standing.look(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the TPM's counter: %w", err)
	}
	return value, nil
}

// look reads the counter and compares it with what is known.
func (s *Standing) look(ctx context.Context) (uint64, error) {
	if err := s.journal.wait(ctx); err != nil {
		return 0, err
	}
	defer s.journal.done()
	if s.back != nil {
		return 0, s.back
	}
	var r counterRecord
	if err := (&edit{store: s.journal.store}).need(ctx, s.key(), &r); err != nil {
		return 0, err
	}
	return s.read(ctx, r.Seen)
}

// read returns the counter's value, which is at least known unless it went back.
func (s *Standing) read(ctx context.Context, known uint64) (uint64, error) {
	value, err := s.tpm.Read(ctx)
	if err != nil {
		return 0, s.judge(ctx, err)
	}
	if value < known {
		return 0, s.wentBack(ctx, known, value)
	}
	return value, usable(value)
}

// claimed adds to e that the claim of epoch r has ended.
func (s *Standing) claimed(ctx context.Context, e *edit, r *epochRecord) error {
	var c counterRecord
	if err := e.need(ctx, s.key(), &c); err != nil {
		return err
	}
	// Another process may know more.
	c.Seen, c.Claiming = max(c.Seen, r.Counter), false
	// A Counter from before a renewal may still be used up.
	if r.Class == keygen.ClassH && r.Reason != usedUp {
		c.Minter = r.Minter
	}
	return e.put(s.key(), &c)
}

// judge returns an error of the TPM, and takes note if it says that the counter
// went back.
func (s *Standing) judge(ctx context.Context, err error) error {
	var back interface {
		error
		WentBack() (expected, seen uint64)
	}
	if !errors.As(err, &back) {
		return err
	}
	expected, seen := back.WentBack()
	return fmt.Errorf("%w: %w", s.wentBack(ctx, expected, seen), err)
}

// wentBack records that the counter went back, and ends all claims from it here.
func (s *Standing) wentBack(ctx context.Context, expected, seen uint64) error {
	s.back = fmt.Errorf("%w: it shows %d where at least %d was expected: TPM state was restored from an older copy",
		ErrRolledBack, seen, expected)
	ctx, cancel := settling(ctx)
	defer cancel()
	err := s.journal.edit(ctx, func(e *edit) error {
		var r counterRecord
		if err := e.need(ctx, s.key(), &r); err != nil {
			return err
		}
		r.Seen, r.Claiming, r.Demoted = seen, false, true
		if err := e.put(s.key(), &r); err != nil {
			return err
		}
		return e.addRollback(ctx, Rollback{Time: s.journal.time(), What: WhatTPM, Seen: seen, Expected: expected})
	})
	if err != nil {
		return fmt.Errorf("%w; record it: %w", s.back, err)
	}
	return s.back
}

// settling returns a context for what must be written down after the TPM has
// done its part, though the caller may have gone.
func settling(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
}

// usable refuses a counter whose values do not fit a name.
func usable(value uint64) error {
	if value > keygen.MaxEpoch {
		return fmt.Errorf("%w: the TPM's counter is at %d, a name holds %d", keygen.ErrExhausted, value, keygen.MaxEpoch)
	}
	return nil
}
