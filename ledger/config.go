package ledger

import (
	"cmp"
	"time"
)

// Config is what a [Keeper] needs besides its store. The zero Config is usable.
type Config struct {
	Clock Clock // where time comes from; nil: the machine's

	// Horizon is that of scopes that are used for the first time, MinHorizon to
	// MaxHorizon; 0: DefaultHorizon.
	Horizon time.Duration

	Limits Limits // what may be used up

	// Report hears what goes wrong in Run and does not end it, such as a full disk; nil:
	// nobody does.
	Report func(err error)

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
	Forks         uint64        // forks seen since Open
}

// complete fills in what is left out, and checks the rest.
func (c *Config) complete() error {
	if c.Clock == nil {
		c.Clock = systemClock{}
	}
	if c.Report == nil {
		c.Report = func(error) {}
	}
	c.Horizon = cmp.Or(c.Horizon, DefaultHorizon)
	l := &c.Limits
	l.Running = cmp.Or(l.Running, 10_000)
	l.Unknown = cmp.Or(l.Unknown, 10_000)
	l.Scopes = cmp.Or(l.Scopes, 1_024)
	l.Bytes = cmp.Or(l.Bytes, 8<<30)
	l.Waiting = cmp.Or(l.Waiting, 1_024)
	l.WaitingBytes = cmp.Or(l.WaitingBytes, 64<<20)
	if l.Waiting < 0 || l.WaitingBytes < 0 {
		return invalid("limits: %d calls and %d bytes that wait: must not be negative", l.Waiting, l.WaitingBytes)
	}
	return validHorizon(c.Horizon)
}
