package ledger

import (
	"errors"
	"time"
)

// What a ledger answers instead of doing what it was asked. Errors are a [*Refusal]
// or wrap one of these.
var (
	// ErrInvalid: an argument is not what it must be. Repeating won't help.
	ErrInvalid = errors.New("invalid")
	// ErrNotFound: the name was never seen.
	ErrNotFound = errors.New("never seen")
	// ErrExpired: the ledger may have forgotten the name, so it is never run.
	ErrExpired = errors.New("expired")
	// ErrMismatch: the name is known with another fingerprint.
	ErrMismatch = errors.New("the fingerprint is not that of the operation with this name")
	// ErrInProgress: another holder runs the operation under a lease.
	ErrInProgress = errors.New("in progress")
	// ErrOutcomeUnknown: nobody knows whether the operation was applied. An
	// operator finds out and settles it.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrFenced: the caller does not hold the operation, or no longer.
	ErrFenced = errors.New("fenced")
	// ErrOverloaded: a bound was reached; a Refusal says whose and how long to wait.
	ErrOverloaded = errors.New("overloaded")
	// ErrUnavailable: the ledger cannot read or write its store.
	ErrUnavailable = errors.New("ledger unavailable")
)

// Refusal is an answer that is no operation.
type Refusal struct {
	Reason error  // one of the errors above
	Detail string // what was refused, why, and what to do

	// RetryAfter is how long to wait before another try; 0 where waiting does not
	// help.
	RetryAfter time.Duration

	// Own: the bound is one of the caller's, not one of the whole ledger. With
	// ErrOverloaded only.
	Own bool

	// Operation is what is known all the same, without its result; or nil.
	Operation *Operation
}

// Error returns the detail behind the reason.
func (r *Refusal) Error() string { return r.Reason.Error() + ": " + r.Detail }

// Unwrap returns the reason.
func (r *Refusal) Unwrap() error { return r.Reason }
