package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/vtpmdetect"
)

// changeTime bounds what ends a life and begins another.
const changeTime = 20 * time.Second

// take waits for the turn to end a life. Without an error, the caller gives it
// back with done. The context is for what it does then, which clients that go
// away do not interrupt.
func (m *mint) take(ctx context.Context) (changing context.Context, done func(), err error) {
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("wait for the end of another change: %w", ctx.Err())
	}
	changing, cancel := context.WithTimeout(context.WithoutCancel(ctx), changeTime)
	return changing, func() { cancel(); <-m.turn }, nil
}

// start begins the first life.
func (m *mint) start(ctx context.Context) error {
	b := birth{class: m.class, reason: "start"}
	var err error
	if b.acted, err = m.look(); err != nil {
		return err
	}
	m.noted = b.acted.Timeline
	if m.chip != nil {
		if b.standing, err = m.chip.compare(ctx); err != nil {
			return err
		}
		if b.class == keygen.ClassH && b.standing.Demoted {
			b.class = keygen.ClassV
			m.log.Error("no class h: the TPM was rolled back, and what happened once can happen again; names are of class v " +
				"until `opmint provision --new-index`")
		}
	}
	if b.class == keygen.ClassH && b.standing.Minter != [16]byte{} {
		b.minter = b.standing.Minter
	} else if b.minter, err = m.drawMinter(); err != nil {
		return err
	}
	return m.begin(ctx, b)
}

func (m *mint) look() (moment, error) {
	now, err := m.watch.Current()
	return moment{now, time.Now()}, err
}

// Renew draws a new minter and claims an epoch under the identity that it makes.
func (m *mint) Renew(ctx context.Context) error {
	if err := m.CanClaim(ctx); err != nil {
		return err
	}
	l, err := m.renew(ctx)
	if errors.Is(err, journal.ErrRolledBack) {
		// What follows is a renewal too.
		return m.rolledBack(ctx, l)
	}
	return err
}

// renew returns the life that it has ended, or failed to.
func (m *mint) renew(ctx context.Context) (*life, error) {
	ctx, done, err := m.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	l := m.current.Load()
	b := l.birth
	if b.minter, err = m.drawMinter(); err != nil {
		return l, err
	}
	draws := &m.renewals
	if m.bounded(b) {
		draws = &m.bucket
	}
	if err := draws.draw(1); err != nil {
		return l, err
	}
	b.reason = "renew"
	return l, m.begin(ctx, b)
}

// rolledBack goes on in class v after the TPM's counter went back under l, unless
// another life has begun already. The journal has it on record.
func (m *mint) rolledBack(ctx context.Context, l *life) error {
	ctx, done, err := m.take(ctx)
	if err != nil {
		return err
	}
	defer done()
	if m.current.Load() != l {
		return nil
	}
	b := l.birth
	b.class, b.reason = keygen.ClassV, "rollback"
	if b.standing, err = m.chip.compare(ctx); err != nil {
		return err
	}
	if b.minter, err = m.drawMinter(); err != nil {
		return err
	}
	if b.standing.Rollback.IsZero() { // else it could not be recorded before, and was told just now
		m.meter.RolledBack(string(journal.WhatTPM))
	}
	m.log.Error("the TPM was rolled back while the daemon ran: names are of class v, under a new identity")
	return m.begin(ctx, b)
}

// follow does what the watch asks for since l was begun, unless another life has
// begun already.
func (m *mint) follow(ctx context.Context, l *life) error {
	ctx, done, err := m.take(ctx)
	if err != nil {
		return err
	}
	defer done()
	if m.current.Load() != l {
		return nil
	}
	b := l.birth
	if b.acted, err = m.look(); err != nil {
		return err
	}
	change := b.acted.Since(l.acted.Timeline)
	if err := m.note(ctx, change, l.acted, b.acted); err != nil {
		return err
	}
	b.reason = "clock"
	if change == vtpmdetect.Restored {
		b.reason = "generation"
		if b.minter, err = m.drawMinter(); err != nil {
			return err
		}
	} else if m.bounded(b) && m.bucket.draw(1) != nil {
		// The clock of a physical machine was set, often. It is harmless there,
		// and epochs are not: each is a write.
		m.current.Store(&life{b, l.Minter, l.counter})
		return nil
	}
	return m.begin(ctx, b)
}

// note records once what the watch shows.
func (m *mint) note(ctx context.Context, c vtpmdetect.Change, before, now moment) error {
	if c == vtpmdetect.Unchanged || now.Timeline == m.noted {
		return nil
	}
	what, seen, expected := journal.WhatGeneration, now.Generation, before.Generation
	if c == vtpmdetect.Disturbed {
		what, seen, expected = journal.WhatClock, millis(now.at), millis(before.at.Round(0).Add(now.at.Sub(before.at)))
	}
	m.log.Warn("the machine may have been taken back in time", "what", what, "seen", seen, "expected", expected)
	if err := m.journal.Record(ctx, what, seen, expected); err != nil {
		return m.judgeError(err)
	}
	m.meter.RolledBack(string(what))
	m.noted = now.Timeline
	return nil
}

// millis is t in milliseconds since 1970, not earlier.
func millis(t time.Time) uint64 { return uint64(max(0, t.UnixMilli())) }
