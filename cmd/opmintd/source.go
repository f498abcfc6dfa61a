package main

import (
	"context"
	"errors"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/api/server"
	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
)

// Identity returns under which identity and epoch names are minted now.
func (m *mint) Identity(ctx context.Context) (*api.Identity, error) {
	// First, since what it shows may begin another life.
	value, unread := m.reader.read(ctx)
	l := m.current.Load()
	told := l.identity()
	var err error
	if told.Identity, told.Epoch, err = l.Epoch(); err != nil {
		return nil, err
	}
	told.Assumed = m.assumedFor(l)
	if unread == nil && l.standing != nil {
		told.Counter = &value
	}
	told.FreshRandomness = m.random.Fresh()
	told.Evidence, told.Verdict = m.report.Evidence, m.report.Verdict
	rollbacks, err := m.journal.Rollbacks(ctx)
	if err != nil {
		return nil, err
	}
	told.Rollbacks = make([]api.Rollback, len(rollbacks))
	for i, r := range rollbacks {
		told.Rollbacks[i] = api.Rollback{Time: r.Time, What: string(r.What), Seen: r.Seen, Expected: r.Expected}
	}
	return &told, nil
}

// assumedFor reports whether the class of l is the operator's word: not that of a
// TPM that went back.
func (m *mint) assumedFor(l *life) bool { return m.assumed && l.class == m.class }

// CanClaim says why an epoch could not be claimed now.
func (m *mint) CanClaim(ctx context.Context) error {
	if m.bounded(m.current.Load().birth) {
		if err := m.bucket.draw(0); err != nil {
			return err
		}
	}
	_, err := m.reader.read(ctx)
	return err
}

// Lookup reports whether the journal knows an epoch, and when it was claimed.
func (m *mint) Lookup(ctx context.Context, name keygen.Name) (time.Time, bool, error) {
	return m.journal.Lookup(ctx, name.Class(), name.Identity(), name.Epoch())
}

// readCounter reads the TPM's counter, 0 in class j. One that went back begins
// another life.
func (m *mint) readCounter(ctx context.Context) (uint64, error) {
	l := m.current.Load()
	value, err := l.counter.Read(ctx)
	if errors.Is(err, journal.ErrRolledBack) {
		if err := m.rolledBack(ctx, l); err != nil {
			return 0, err
		}
		value, err = m.current.Load().counter.Read(ctx)
	}
	if err != nil {
		return 0, m.judgeError(err)
	}
	return value, nil
}

var _ server.Source = (*mint)(nil)
