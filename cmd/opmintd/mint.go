package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/api/server"
	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/vtpmdetect"
)

// maxLives bounds how many lives one lease looks for a name in.
const maxLives = 8

// A mint mints names, in one life after the other:
//
//	start ──► life ──► life ──► …      what began it    minter   epoch
//	                                   start            kept in class h, else new
//	                                   renew            new      new
//	                                   rollback         new      new, class v
//	                                   generation       new      new
//	                                   clock            same     new
//
// Whoever mints sees the change first: a name is drawn, then the watch is looked
// at, and only if nothing has happened the name goes out.
type mint struct {
	current atomic.Pointer[life]
	turn    chan struct{} // has room for one: who is to end the current life

	judgement
	journal       *journal.Journal
	chip          *chip // nil without a TPM
	watch         watch
	random        *random
	reader        *reader
	bucket        bucket // of claims, where they wear the TPM
	renewals      bucket // elsewhere, of renewals
	namesPerEpoch uint64 // 0: as many as an epoch has
	log           *slog.Logger
	claiming      context.Context // of claims: ends with the daemon, or for the error that ends it
	meter         *meter
	receiver      atomic.Pointer[receiver] // is told of epochs; nil: nobody
	fail          func(error)              // ends the daemon, for an error that is unreliable

	noted vtpmdetect.Timeline // what is in the journal of it; of whoever has the turn
}

// A watch tells whether the machine may have been taken back in time; it is a
// [vtpmdetect.Watch].
type watch interface {
	Current() (vtpmdetect.Timeline, error)
	io.Closer
}

// Class returns the class of the names that are minted now.
func (m *mint) Class() keygen.Class { return m.current.Load().class }

// Left returns how many names there are until another epoch is claimed.
func (m *mint) Left() uint64 { return m.current.Load().Left() }

// Epoch returns whose names are minted now, and under which epoch. It looks at the
// watch, as whoever mints does.
func (m *mint) Epoch() (keygen.Identity, uint64, error) {
	id, epoch, err := m.current.Load().Epoch()
	if err == nil {
		_, err = m.watch.Current()
	}
	return id, epoch, err
}

// Lease takes a lease as [keygen.Minter.Lease] does, in a life to which nothing
// has happened yet.
func (m *mint) Lease(ctx context.Context, count uint64) (*keygen.Lease, error) {
	for range maxLives {
		l := m.current.Load()
		lease, err := l.Lease(ctx, count)
		if errors.Is(err, journal.ErrRolledBack) {
			err = m.rolledBack(ctx, l)
		} else if err == nil {
			now, lookErr := m.watch.Current()
			if lookErr == nil && now == l.acted.Timeline {
				return lease, nil
			}
			// What was drawn may have been drawn in another history too.
			if err = lookErr; err == nil {
				err = m.follow(ctx, l)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: the machine's clock is set faster than epochs can be claimed", api.ErrUnavailable)
}

var _ server.Minter = (*mint)(nil)
