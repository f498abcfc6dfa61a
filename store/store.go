package store

import (
	"context"
	"errors"
	"fmt"
)

// Bounds of what a store takes. What is beyond them is ErrInvalid.
const (
	MaxKey    = 1024     // bytes of a key; at least 1
	MaxValue  = 2 << 20  // bytes of a value; at least 1
	MaxOps    = 1 << 16  // checks and writes of one Commit together
	MaxCommit = 16 << 20 // bytes of one Commit: all its keys and values
	MaxScan   = 4096     // records of one Scan
)

// Store is a map from keys to values, in the order of the keys as bytes.
// Keys and values are never empty, so an empty value stands for absence: in
// Get's answer, in a Check and in a Write.
//
// All methods may be called at once. They keep none of the slices they are
// given, and the caller owns those it gets. Each Commit takes effect at one
// moment between call and return, and a read shows all that took effect
// before it began and nothing that could still be lost.
//
// Every method can fail with ErrInvalid (an argument out of bounds),
// ErrClosed, ErrStopped, or an error of the context. The context bounds the
// wait, not the work: see Commit.
type Store interface {
	// Get returns the value of key, and an empty one where there is none.
	// ErrDamaged: there is something, and it is not what was stored.
	Get(ctx context.Context, key []byte) ([]byte, error)

	// Scan returns up to limit (1…MaxScan) of the records whose keys begin
	// with prefix and are greater than after, in order, all as of one moment.
	// Either may be empty. It may return fewer than there are, to bound
	// memory; only an empty answer is the end:
	//
	//	for after := []byte(nil); ; {
	//		records, err := s.Scan(ctx, prefix, after, 100)
	//		if err != nil || len(records) == 0 {
	//			return err
	//		}
	//		after = records[len(records)-1].Key
	//	}
	//
	// Two calls see two moments. A record that stands through a whole loop
	// is seen once. ErrDamaged: one of the records is not what was stored.
	Scan(ctx context.Context, prefix, after []byte, limit int) ([]Record, error)

	// Commit applies all writes, durably, if all checks hold at that moment;
	// else none. No key may be written twice. Without writes it only checks.
	//
	//	nil                 applied and durable
	//	ErrConflict         not applied: a check did not hold (ConflictError: which)
	//	ErrOutcomeUnknown   applied or not; the store has stopped
	//	any other error     not applied, and never will be
	//
	// A context that ends before the Commit's turn has come withdraws it;
	// afterwards it has no effect.
	Commit(ctx context.Context, checks []Check, writes []Write) error

	// Close waits for the Commit under way, may refuse those that wait for
	// their turn, and gives back what the store holds. Closing again does
	// nothing.
	Close() error
}

// Record is a key with its value.
type Record struct {
	Key, Value []byte // 1…MaxKey and 1…MaxValue bytes
}

// Check holds if the value of Key is Value, or, where Value is empty, if there
// is none. What Get or Scan returned can be checked as it is: Check{key, value}
// and Check(record) say "still as I saw it".
type Check struct {
	Key, Value []byte // 1…MaxKey and 0…MaxValue bytes
}

// Write sets the value of Key to Value, or, where Value is empty, deletes Key,
// which need not exist.
type Write struct {
	Key, Value []byte // 1…MaxKey and 0…MaxValue bytes
}

// What can go wrong with a call.
var (
	// ErrInvalid: an argument is out of the bounds above.
	ErrInvalid = errors.New("invalid argument")
	// ErrConflict: a check of a Commit did not hold. Read again and decide again.
	ErrConflict = errors.New("conflict")
	// ErrOutcomeUnknown: it is not known whether a Commit was applied.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrStopped: an earlier Commit failed in a way that leaves the state
	// unknown. Open the store anew to read what is there.
	ErrStopped = errors.New("store has stopped")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store is closed")
)

// What can be wrong with a file, or with another place a store is kept in.
var (
	// ErrDamaged: it holds something that was never stored there.
	ErrDamaged = errors.New("store is damaged")
	// ErrLost: it was created once and is not there.
	ErrLost = errors.New("store is lost")
	// ErrNewer: a newer opmint wrote it, in a format unknown here.
	ErrNewer = errors.New("store is of a newer format")
	// ErrInUse: another process has it open, or this one.
	ErrInUse = errors.New("store is in use")
	// ErrForeign: it is another kind of store, another's, open to others, or
	// no store at all.
	ErrForeign = errors.New("not a store of ours")
)

// ConflictError is how Commit reports ErrConflict.
type ConflictError struct {
	Check int // index of the first check that did not hold
}

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("conflict: check %d does not hold", e.Check)
}

// Unwrap returns ErrConflict.
func (e *ConflictError) Unwrap() error { return ErrConflict }
