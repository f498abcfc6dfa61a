package api_test

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// source is a daemon's, with all that a client can see of it.
type source struct {
	minter atomic.Pointer[keygen.Minter]
	epoch  uint64
	fail   error
}

func (s *source) Next(context.Context) (uint64, error) { s.epoch++; return s.epoch, s.fail }

func (s *source) CanClaim(context.Context) error { return s.fail }

func (s *source) Class() keygen.Class { return keygen.ClassH }

func (s *source) Lease(ctx context.Context, count uint64) (*keygen.Lease, error) {
	return s.minter.Load().Lease(ctx, count)
}

func (s *source) Left() uint64 { return s.minter.Load().Left() }

func (s *source) Epoch() (keygen.Identity, uint64, error) { return s.minter.Load().Epoch() }

func (s *source) Renew(ctx context.Context) error {
	m, err := keygen.NewMinter(ctx, keygen.MinterConfig{
		Class: keygen.ClassH, Identity: testIdentity, Counter: s, NamesPerEpoch: 10_000,
	})
	if err == nil {
		s.minter.Store(m)
	}
	return err
}

func (s *source) Lookup(_ context.Context, name keygen.Name) (time.Time, bool, error) {
	return time.Unix(1_900_000_000, 0), name.Epoch() == 1, nil
}

func (s *source) Identity(context.Context) (*api.Identity, error) {
	id, epoch, err := s.Epoch()
	return &api.Identity{Class: keygen.ClassH, Assumed: true, Identity: id, Epoch: epoch, Counter: &s.epoch}, err
}
