package ledger

import (
	"context"
	"time"
)

// Ledger is a caller's view of a ledger: [Keeper.As] gives it in-process, and the
// client of package api over a socket. Scopes whose names begin with
// [SharedPrefix] are one namespace for all callers; all others are the caller's own,
// and nobody else learns what is in them.
//
// All methods may be called at once. Where several refusals fit, the order is
// ErrInvalid, ErrExpired, ErrMismatch, and then ErrInProgress,
// ErrOutcomeUnknown, ErrFenced. Refusals change nothing.
//
// Every method can also fail with ErrUnavailable (the store failed: nothing is
// known to have been done, and nothing may be run) and with an error of the
// context, which withdraws what was not yet taken up. After an error that wraps
// [github.com/opmint/opmint/store.ErrOutcomeUnknown] the call may have had its effect: repeat it.
// Repeating is safe for every method.
type Ledger interface {
	// Begin asks whether the caller is to run an operation.
	//
	//	Running, no error   run it, then Finish, with the Fence of the answer
	//	Applied, Failed,    it has ended before: Replayed is set, Result is what
	//	Unknown             Finish or Settle was given; do not run it
	//	ErrInProgress       another holder runs it, under a lease that is not over
	//	ErrOutcomeUnknown   it may have been applied: its lease ran out under
	//	                    OrphanReject, or the ledger is suspect; settle it
	//	ErrExpired          it ended longer than the scope's horizon ago, or may have
	//	ErrMismatch         it is known with another fingerprint
	//	ErrOverloaded       a bound is reached: see [Limits]
	//
	// Repeated by the holder while its lease runs, Begin gives the same answer. A
	// lease that ran out under OrphanRetry is handed on, under a higher fence.
	Begin(ctx context.Context, r Ref, a Attempt) (Operation, error)

	// Extend lets the lease of an operation end that long after now. It works after
	// the lease's end too, if nobody took over in between. ErrFenced: the hold is
	// not the current one, or the operation has ended. ErrNotFound: it never began.
	// ErrExpired: it ended, and is forgotten.
	Extend(ctx context.Context, r Ref, h Hold, lease time.Duration) (Operation, error)

	// Finish ends an operation: applied, failed (which means: not applied) or
	// unknown, which stays until it is settled. It is refused only if the hold is
	// not the current one (ErrFenced), so it counts after the lease's end too; once
	// it was accepted, only an equal Finish is. ErrNotFound and ErrExpired: as with
	// Extend.
	//
	// The result may be nil. A body over MaxBody is not kept, and the operation is
	// finished all the same: see [Result].
	Finish(ctx context.Context, r Ref, h Hold, outcome State, result *Result) (Operation, error)

	// Settle is an operator's word, applied or failed, on an operation whose outcome
	// is unknown. The result may be nil; then that of Finish stays, if there was
	// one. Settling again with the same outcome and result is no error. ErrInProgress: a lease
	// still runs. ErrFenced: it has ended otherwise. ErrNotFound: it never began;
	// in a suspect ledger such a name can be settled.
	Settle(ctx context.Context, r Ref, outcome State, result *Result) (Operation, error)

	// Lookup returns what is known of an operation, without any effect.
	// ErrNotFound: it never began. ErrExpired: it ended, and is forgotten, or never
	// began and never will. ErrOutcomeUnknown: the ledger is suspect and has not
	// seen it. An operation whose lease ran out is Unknown and Lapsed.
	Lookup(ctx context.Context, r Ref) (Operation, error)

	// List returns operations of a scope in the order of their names, without the
	// bodies of their results.
	List(ctx context.Context, scope string, o ListOptions) (Page, error)

	// Absorb takes note of up to MaxAbsorb names of operations that have no result,
	// such as measurements that were stored, all or none, and says of each what it
	// was before. A name is applied from then on.
	//
	// ErrInvalid: one of them is no key (the error says which). ErrOverloaded: as
	// with Begin.
	Absorb(ctx context.Context, scope string, items []Item) ([]Verdict, error)

	// Scope returns a scope's horizon and what it holds. Of a scope that was never
	// used it says what it would have.
	Scope(ctx context.Context, name string) (Scope, error)

	// SetHorizon changes how long a scope remembers, MinHorizon to MaxHorizon, and
	// makes the scope if need be. What is expired stays expired.
	SetHorizon(ctx context.Context, name string, horizon time.Duration) (Scope, error)
}
