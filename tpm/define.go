package tpm

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-tpm/tpm2"
)

// Define makes the counter usable: it defines the index if nothing stands there
// and increments a new one for the first time, a number that nobody owns. An
// index of ours that is there is left as it is. What makes it ours is that its
// form is exactly opmint's and that it opens with index.auth; that file is
// made if there is no index either.
//
// It ends within 7 minutes, and may be repeated after any error or crash. After
// it, this Counter is of the incarnation that is there, new or old.
func (c *Counter) Define(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, longLimit)
	defer cancel()
	unlock, err := lockFolder(ctx, c.stateDir)
	if err == nil {
		defer unlock()
		c.changed.Store(false)
		c.drawn = [secretSize]byte{}
		err = c.device.operate(ctx, longLimit, c.define)
	}
	if err != nil {
		return fmt.Errorf("define counter 0x%08x: %w", uint32(c.handle), err)
	}
	return nil
}

func (c *Counter) define(l *link) error {
	c.seen = nil
	idx, err := findIndex(l, c.handle)
	if err == nil && idx == nil {
		if err = c.create(l); err == nil {
			idx, err = findIndex(l, c.handle)
		}
	}
	if err != nil {
		return err
	}
	if idx == nil {
		return fmt.Errorf("%w: somebody has deleted it again", ErrNotDefined)
	}
	if idx.incarnation == c.drawn {
		c.changed.Store(true)
	}
	if c.auth, err = readAuth(c.stateDir); err != nil {
		return err
	}
	s, err := startSession(l, c.auth, nil)
	if err != nil {
		return err
	}
	defer s.close(l)
	begins := !idx.written
	if begins {
		if idx, err = c.firstIncrement(l, idx, s); err != nil {
			return err
		}
	}
	if c.known && idx.incarnation != c.pinned {
		c.known, c.fresh, c.shared, c.back = false, false, 0, nil
	}
	if c.back != nil {
		return c.back
	}
	s.endsWithNext()
	if err := c.read(l, idx, s); err != nil || !begins {
		return err
	}
	return keepFirst(c.stateDir, c.pinned, c.last)
}

// firstIncrement increments a new counter and returns the index as it is now:
// it has another Name. If another process was faster, that is as good.
func (c *Counter) firstIncrement(l *link, idx *index, s *session) (*index, error) {
	refusal := idx.increment(l, s)
	if refusal == nil || isLost(refusal) {
		c.changed.Store(true)
	}
	if isLost(refusal) || errors.Is(refusal, ErrBusy) {
		return nil, refusal
	}
	now, err := findIndex(l, c.handle)
	if err != nil {
		return nil, err
	}
	if now == nil || !now.written {
		err := ErrNotDefined
		if refusal != nil {
			err = fmt.Errorf("%w; %w", refusal, ErrNotDefined)
		}
		return nil, fmt.Errorf("increment it for the first time: %w", err)
	}
	return now, nil
}

// create defines the index. Its secrets are on the disk before the TPM has
// them: after a crash the next start finds either no index or one that it can
// open.
func (c *Counter) create(l *link) error {
	auth, err := readAuth(c.stateDir)
	if errors.Is(err, ErrAuthLost) {
		auth, err = drawAuth(c.stateDir)
	}
	if err != nil {
		return err
	}
	incarnation, err := drawIncarnation(c.stateDir)
	if err != nil {
		return err
	}
	c.drawn = incarnation
	err = c.asOwner(l, func(s *session) error {
		s.encryptsNext()
		_, err := run(l, tpm2.NVDefineSpace{
			AuthHandle: tpm2.AuthHandle{Handle: tpm2.TPMRHOwner, Auth: s},
			Auth:       tpm2.TPM2BAuth{Buffer: auth},
			PublicInfo: tpm2.New2B(indexPublic(c.handle, incarnation, false)),
		})
		return err
	})
	if errors.Is(err, tpm2.TPMRCNVDefined) {
		// Another process was faster; whether its index is ours, we shall see.
		return nil
	}
	return err
}

// Undefine deletes the index, if it has opmint's form, whether or not
// index.auth opens it; no index is as good. If Status has seen an index, or this
// Counter is of an incarnation, another one is left alone: ErrRedefined. The
// incarnation ends, and with it the identity. It needs owner authorization, and
// ends within 7 minutes.
func (c *Counter) Undefine(ctx context.Context) error {
	var target *[secretSize]byte
	sent := false
	c.changed.Store(false)
	err := c.device.operate(ctx, longLimit, func(l *link) error {
		idx, err := findIndex(l, c.handle)
		if err != nil || idx == nil {
			return err
		}
		if target == nil {
			target = c.doomed(idx)
		}
		switch {
		case idx.incarnation == *target:
		case sent:
			return nil // ours is gone, and somebody has made another one
		default:
			return fmt.Errorf("%w: it is not the one that was looked at, and was left untouched", ErrRedefined)
		}
		return c.asOwner(l, func(s *session) error {
			sent = true
			// With its Name, so that it is this index or none.
			_, err := run(l, tpm2.NVUndefineSpace{
				AuthHandle: tpm2.AuthHandle{Handle: tpm2.TPMRHOwner, Auth: s},
				NVIndex:    tpm2.NamedHandle{Handle: idx.handle, Name: idx.name},
			})
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("undefine counter 0x%08x: %w", uint32(c.handle), err)
	}
	c.changed.Store(sent)
	return nil
}

// Changed reports whether the last Define or Undefine changed the TPM, rather
// than find it as it should be. It is for the one that called it.
func (c *Counter) Changed() bool { return c.changed.Load() }

// doomed returns the incarnation that Undefine is meant for.
func (c *Counter) doomed(found *index) *[secretSize]byte {
	switch {
	case c.seen != nil:
		return c.seen
	case c.known:
		return new(c.pinned)
	}
	return &found.incarnation
}

// asOwner runs one command with owner authorization, in a session salted with
// the endorsement key: who listens to the bus cannot try out passwords.
func (c *Counter) asOwner(l *link, command func(*session) error) error {
	key, err := loadEK(l, c.ek)
	if err != nil {
		return fmt.Errorf("make the endorsement key: %w", err)
	}
	defer l.flush(key.handle)
	s, err := startSession(l, c.owner, key)
	if err != nil {
		return err
	}
	defer s.close(l)
	s.endsWithNext()
	err = command(s)
	if isWrongAuth(err) {
		return fmt.Errorf("%w (%s): %w", ErrOwnerAuth, c.ownerAdvice(l), err)
	}
	return err
}

// ownerAdvice says what to do about an authorization value that is not the owner's: a
// TPM that was cleared has none.
func (c *Counter) ownerAdvice(l *link) string {
	now, err := l.properties(tpm2.TPMPTPermanent, tpm2.TPMPTPermanent)
	if err == nil && now[tpm2.TPMPTPermanent]&permanentOwnerAuth == 0 && len(c.owner) > 0 {
		return "the owner has none now, as in a TPM that was cleared: leave away --owner-auth-file"
	}
	return "give the right one with --owner-auth-file"
}
