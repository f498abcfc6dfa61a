package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
)

// Config is what a [Keeper] needs besides its store. The zero Config is usable.
type Config struct {
	Clock Clock // where time comes from; nil: the machine's

	// Horizon is that of scopes that are used for the first time, MinHorizon to
	// MaxHorizon; 0: DefaultHorizon.
	Horizon time.Duration

	Limits Limits // what may be used up

	// Restored says that the store is, or may be, an older copy of itself: the
	// ledger is suspect from now on, until somebody accepts it.
	Restored bool
}

// Clock is where a ledger's time comes from. While the ledger is open only Boot
// counts; across a stop Wall does, one hour at most.
type Clock interface {
	// Boot returns the time since some moment before, suspended time included; it
	// never goes back while the process lives.
	Boot() time.Duration
	// Wall returns the wall clock's time, right or wrong.
	Wall() time.Time
}

// Limits bound what one uid, and all together, may cost. A zero field is its
// default; what is beyond is ErrOverloaded. What is in a shared scope counts for
// the uid that put it there.
type Limits struct {
	Running uint64 // running operations of a uid: 10,000
	Unknown uint64 // unsettled operations of a uid, beyond which it begins no more: 10,000
	Scopes  uint64 // scopes that a uid made: 1,024
	Bytes   uint64 // stored for a uid, as keys and values: 8 GiB

	Waiting      int // calls of a uid that wait to be written: 1,024
	WaitingBytes int // of results and names of all calls that wait to be written: 64 MiB
}

// Keeper keeps a ledger in a store, and answers for all callers. Its methods may
// be called at once.
type Keeper struct{}

// Info says what a ledger is.
type Info struct {
	ID      [16]byte  // drawn when the ledger was made: one that was lost comes back with another
	Since   time.Time // since when it remembers: when it was made
	Events  uint64    // how many events its log ever had: a lower number of the same ID was restored from a backup
	Suspect bool      // see [Config.Restored]
}

// Stats are figures of a ledger, for metrics.
type Stats struct {
	Counts
	Scopes        uint64        // scopes there are
	Bytes         uint64        // of keys and values that count for some uid
	LogBytes      uint64        // of the log
	OldestUnknown time.Duration // how long the oldest unsettled operation is unknown; 0: there is none
	Waiting       int           // calls that wait to be written
	Expired       uint64        // calls refused as ErrExpired since Open
	Forks         uint64        // forks ever seen
}

// Open opens the ledger in s, a new one if s is empty. The store stays the caller's
// to close, after the Keeper. What is no ledger, or damaged, is store.ErrDamaged;
// a Config out of bounds is ErrInvalid.
func Open(ctx context.Context, s store.Store, c Config) (*Keeper, error) {
	return nil, errors.ErrUnsupported
}

// Close writes down the time, and waits for what is being written; calls that wait
// for their turn are answered before.
func (k *Keeper) Close(ctx context.Context) error { return errors.ErrUnsupported }

// As returns the ledger as the user with that uid sees it.
func (k *Keeper) As(uid uint32) Ledger { return nil }

// Run does the work that nobody waits for, in small steps, until ctx ends: it
// writes down that leases ran out, purges, drops tombstones, and makes checkpoints
// of the log. It returns the error of ctx, or what ended the store for good.
func (k *Keeper) Run(ctx context.Context) error { return errors.ErrUnsupported }

// Step does one small step of the work of Run, and reports whether there is more
// to do by now.
func (k *Keeper) Step(ctx context.Context) (more bool, err error) {
	return false, errors.ErrUnsupported
}

// Info returns what the ledger is, as of now.
func (k *Keeper) Info(ctx context.Context) (Info, error) { return Info{}, errors.ErrUnsupported }

// Stats returns figures for metrics. It reads a few records.
func (k *Keeper) Stats(ctx context.Context) (Stats, error) { return Stats{}, errors.ErrUnsupported }

// Suspect says that the ledger may be an older copy of itself, as Config.Restored
// does: names it has not seen, of epochs it could have seen, are ErrOutcomeUnknown
// from now on. The uid is of who says it.
func (k *Keeper) Suspect(ctx context.Context, uid uint32) error { return errors.ErrUnsupported }

// Accept takes a suspect ledger as it is: names it has not seen are fresh again.
// The uid is of who says it.
func (k *Keeper) Accept(ctx context.Context, uid uint32) error { return errors.ErrUnsupported }

// Claimed says that an epoch of an identity was claimed just now, so that its names
// and later ones cannot have been in what a suspect ledger lost: they are fresh.
func (k *Keeper) Claimed(ctx context.Context, id keygen.Identity, epoch uint64) error {
	return errors.ErrUnsupported
}

// Log returns events in the order of their numbers. ErrInvalid: the query is out of
// bounds.
func (k *Keeper) Log(ctx context.Context, q LogQuery) ([]Event, error) {
	return nil, errors.ErrUnsupported
}

// WaitLog returns once there is an event, of whatever chain, with a number above
// after.
func (k *Keeper) WaitLog(ctx context.Context, after uint64) error { return errors.ErrUnsupported }
