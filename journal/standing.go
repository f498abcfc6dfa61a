package journal

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/opmint/opmint/store"
)

// MaxTries is how often one call of [TPM.Next] increments the counter at most.
const MaxTries = 8

// TPM is a TPM's counter, of one incarnation: once another stands in its place,
// or none, all methods fail. They are called one at a time.
//
// An error that wraps one with the method
//
//	WentBack() (expected, seen uint64)
//
// says that the counter was noticed to go back: it shows seen, and must have
// shown expected or more. Of any other error nothing is concluded.
type TPM interface {
	// Incarnation returns the random bytes that live and die with the counter.
	Incarnation(ctx context.Context) ([32]byte, error)
	// Read returns the counter's value.
	Read(ctx context.Context) (uint64, error)
	// Next claims a value that nobody else owns, above all that it returned
	// before. It increments MaxTries times at most, whatever it returns.
	Next(ctx context.Context) (uint64, error)
}

// ErrRolledBack says that a TPM's counter went back, so that class h cannot rest
// on it until it has another incarnation.
var ErrRolledBack = errors.New("the TPM's counter was rolled back " +
	"(class v goes on; `opmint provision --new-index` makes class h possible again)")

// Change is how the TPM at hand differs from those that the journal knew.
type Change string

// All changes. None of them is a rollback.
const (
	Unchanged Change = ""          // this counter and endorsement key are known
	FirstTPM  Change = "first-tpm" // the journal knew no TPM
	NewIndex  Change = "new-index" // the endorsement key is known, the counter is new
	OtherTPM  Change = "other-tpm" // both are new: the state folder was moved, or the board replaced
	NewEK     Change = "new-ek"    // the counter is known, its endorsement key is another
)

// Standing is how a TPM's counter stands to the journal.
type Standing struct {
	EK          [32]byte // the SHA-256 of the endorsement key's SubjectPublicKeyInfo
	Incarnation [32]byte // of the counter
	Value       uint64   // of the counter, when it was compared
	Minter      [16]byte // of the last epoch in class h; zero: there is none, draw one
	Change      Change   // what is new about it
	Rollback    Rollback // what was noticed and recorded this time, or the zero Rollback
	Demoted     bool     // the counter went back, now or earlier: no class h

	journal *Journal
	tpm     TPM
	back    error // why nothing is claimed any more; guarded by journal.turn
}

// Compare compares a TPM's counter with what the journal knows of it. A daemon
// calls it at its start, and again, with a new TPM, after an ErrRolledBack.
// Rollbacks are recorded and are no error.
//
// Ek is the SHA-256 of the endorsement key's SubjectPublicKeyInfo. First is what is
// known of a counter that the journal does not know: the value it had when it was
// defined, or 0. If it shows more, the journal was lost.
//
// Errors are the TPM's, the store's, and keygen.ErrExhausted for a counter that is
// beyond what a name can hold.
func (j *Journal) Compare(ctx context.Context, t TPM, ek [32]byte, first uint64) (*Standing, error) {
	s, err := j.compare(ctx, &Standing{EK: ek, journal: j, tpm: t}, first)
	if err != nil {
		return nil, fmt.Errorf("compare the TPM's counter with the journal: %w", err)
	}
	return s, nil
}

func (j *Journal) compare(ctx context.Context, s *Standing, first uint64) (*Standing, error) {
	if err := j.wait(ctx); err != nil {
		return nil, err
	}
	defer j.done()
	var err error
	if s.Value, err = s.tpm.Read(ctx); err != nil {
		return nil, err
	}
	if s.Incarnation, err = s.tpm.Incarnation(ctx); err != nil {
		return nil, err
	}
	if err := usable(s.Value); err != nil {
		return nil, err
	}
	return s, j.edit(ctx, func(e *edit) error { return s.note(ctx, e, first) })
}

// note writes down what the comparison shows.
func (s *Standing) note(ctx context.Context, e *edit, first uint64) error {
	var known counterRecord
	found, err := e.load(ctx, s.key(), &known)
	if err != nil {
		return err
	}
	if s.Change, err = s.change(ctx, found, known); err != nil {
		return err
	}
	if !found {
		if known.Seen = first; first == 0 {
			known.Seen = s.Value
		}
	}
	what, expected := known.compare(s.Value)
	s.Rollback = Rollback{}
	if what != "" {
		s.Rollback = Rollback{Time: s.journal.time(), What: what, Seen: s.Value, Expected: expected}
		if err := e.addRollback(ctx, s.Rollback); err != nil {
			return err
		}
	}
	s.Demoted = known.Demoted || what == WhatTPM
	s.Minter = known.minter()
	now := known
	now.EK, now.Seen, now.Claiming, now.Demoted = hex.EncodeToString(s.EK[:]), s.Value, false, s.Demoted
	if found && now == known {
		return nil
	}
	return e.put(s.key(), &now)
}

// change says what is new about the TPM, given what is known of its counter.
func (s *Standing) change(ctx context.Context, found bool, known counterRecord) (Change, error) {
	ek := hex.EncodeToString(s.EK[:])
	if found && known.EK == ek {
		return Unchanged, nil
	}
	if found {
		return NewEK, nil
	}
	change := FirstTPM
	err := s.journal.scan(ctx, counterPrefix, func(r store.Record) error {
		var other counterRecord
		if err := decode(r.Value, &other); err != nil {
			return fmt.Errorf("record %s: %w", r.Key, err)
		}
		if other.EK == ek {
			change = NewIndex
		} else if change == FirstTPM {
			change = OtherTPM
		}
		return nil
	})
	return change, err
}

const counterPrefix = "counter/"

func (s *Standing) key() string { return counterPrefix + hex.EncodeToString(s.Incarnation[:]) }
