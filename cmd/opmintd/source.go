package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// source is what the server knows of the daemon.
type source struct {
	class   keygen.Class
	assumed bool // the class is the operator's word
	minter  *keygen.Minter
	claimer *claimer
	counter counter // what the minter claims from: the claimer, or a bound on it
	claims  *claims
	state   *state

	renewing chan struct{} // has room for one: who renews
}

// Identity returns under which identity and epoch names are minted now.
func (s *source) Identity(ctx context.Context) (*api.Identity, error) {
	id, epoch, err := s.minter.Epoch()
	if err != nil {
		return nil, err
	}
	c, known := s.claims.find(id, epoch)
	if !known {
		return nil, fmt.Errorf("what epoch %d of %s rests on has just been forgotten: ask again", epoch, id)
	}
	told := &api.Identity{
		Class:         s.class,
		Assumed:       s.assumed,
		Identity:      id,
		EKFingerprint: "sha256:" + hex.EncodeToString(c.origin.ek[:]),
		Incarnation:   hex.EncodeToString(c.origin.incarnation[:]),
		Minter:        hex.EncodeToString(c.origin.minter[:]),
		Epoch:         epoch,
	}
	if value, err := s.claimer.read(ctx); err == nil {
		told.Counter = &value
	}
	return told, nil
}

// Renew draws a new minter and claims an epoch for it. The minter is on the disk
// before it is used: if the daemon dies in between, its next start has the new
// identity.
func (s *source) Renew(ctx context.Context) error {
	select {
	case s.renewing <- struct{}{}:
		defer func() { <-s.renewing }()
	case <-ctx.Done():
		return fmt.Errorf("wait for the end of another renewal: %w", ctx.Err())
	}
	before := s.claims.current()
	after := before
	after.minter = drawMinter()
	err := s.state.keepMinter(after.minter)
	if err == nil {
		err = s.minter.Renew(context.WithValue(ctx, originKey{}, after), after.identity())
	}
	if err != nil {
		return errors.Join(err, s.state.keepMinter(before.minter))
	}
	return nil
}

// CanClaim says why an epoch could not be claimed now.
func (s *source) CanClaim(ctx context.Context) error { return s.counter.CanClaim(ctx) }

// Claimed returns when an epoch was claimed for an identity.
func (s *source) Claimed(id keygen.Identity, epoch uint64) (time.Time, bool) {
	c, known := s.claims.find(id, epoch)
	return c.at, known
}
