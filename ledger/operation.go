package ledger

import "time"

// SharedPrefix begins the names of scopes that all callers share.
const SharedPrefix = "shared."

// Bounds of what a caller may pass. What is beyond them is ErrInvalid.
const (
	MaxScope  = 128 // bytes of a scope's name, UTF-8; at least 1
	MaxName   = 255 // bytes of an operation's name, UTF-8; at least 1
	MaxHolder = 128 // bytes of a holder, UTF-8; at least 1

	MinLease     = time.Millisecond
	MaxLease     = 24 * time.Hour
	DefaultLease = 30 * time.Second // where an Attempt names none

	MinHorizon     = time.Second
	MaxHorizon     = 10 * 365 * 24 * time.Hour
	DefaultHorizon = 192 * time.Hour

	MaxAbsorb = 10_000 // names of one Absorb
	MaxList   = 1_000  // operations of one List
)

// Ref says which operation: a name within a scope. The name is a minted or semantic
// name, a child of one, or a foreign key: any other text without surrounding
// spaces and control characters. A UUID in any case or as urn:uuid: is one key.
// What begins like a name, as (?i)^[a-z][0-9]-, and is none, is ErrInvalid.
type Ref struct {
	Scope, Name string // 1 to MaxScope and 1 to MaxName bytes
}

// Attempt is a caller's wish to run an operation.
type Attempt struct {
	// Holder tells this attempt apart from all others: a random string, the same
	// when the call is repeated because its answer was lost.
	Holder string

	// Fingerprint is that of the payload; zero: none. An operation that was begun
	// with one is refused without it.
	Fingerprint Fingerprint

	Lease  time.Duration // MinLease to MaxLease; 0 is DefaultLease
	Orphan Orphan        // counts in the first Begin of an operation only
}

// Hold is the right to extend and finish an operation.
type Hold struct {
	Holder string // of the Attempt
	Fence  uint64 // of Begin's answer
}

// Orphan says what happens to an operation whose lease ran out: it may have been
// applied.
type Orphan string

// What happens to orphans.
const (
	OrphanReject Orphan = "reject" // its outcome is unknown until it is settled; the default, also as ""
	OrphanRetry  Orphan = "retry"  // the next caller runs it again: for what is absolute by nature
)

// State is where an operation stands. Each name has one final state; unknown is
// final for callers, and an operator can settle it.
type State string

// All states.
const (
	Running State = "running" // under a lease
	Applied State = "applied"
	Failed  State = "failed"  // not applied, and never will be: a new attempt needs a new name
	Unknown State = "unknown" // applied or not
)

// Operation is what a ledger knows of a name in a scope. Times are in UTC, by the
// wall clock of who kept the ledger, and cut to milliseconds.
type Operation struct {
	Ref   Ref   // with the name in its one spelling
	State State // where it stands

	// Replayed: it had ended before the call, so this is memory.
	Replayed bool

	UID          uint32      // of who began or absorbed it
	Fingerprint  Fingerprint // zero: none
	Orphan       Orphan      // of the first Begin
	Holder       string      // the last one; "" if it was absorbed
	Fence        uint64      // the last one, from 1; 0 if it was absorbed
	Began        time.Time   // first
	LeaseExpires time.Time   // while it is Running, or has Lapsed
	Ended        time.Time   // zero while it is Running or has Lapsed

	Lapsed  bool // Unknown because its lease ran out: a late Finish would still count
	Settled bool // the outcome is an operator's word
	Forked  bool // another name has its identity, epoch and seq: its minter was cloned or rolled back

	Result *Result // of Finish or Settle; nil: none
}

// Hold returns what Extend and Finish need.
func (o Operation) Hold() Hold { return Hold{Holder: o.Holder, Fence: o.Fence} }

// ListOptions say what List returns.
type ListOptions struct {
	State State  // only operations in that state; "": all
	After string // only names behind this one; "": from the first
	Limit int    // at most so many, 1 to MaxList; 0 is 100
}

// Page is a part of a list.
type Page struct {
	Operations []Operation // in the order of their names

	// Next is the After of the next page; "": this is the last. A page can be
	// empty and not be the last.
	Next string
}

// Item is a name for Absorb.
type Item struct {
	Name        string      // as in a Ref
	Fingerprint Fingerprint // zero: none
}

// Verdict is what a name was before Absorb.
type Verdict string

// All verdicts. Only a fresh name is absorbed by the call.
const (
	VerdictFresh    Verdict = "fresh"    // never seen: it counts now
	VerdictSeen     Verdict = "seen"     // applied before, with that fingerprint
	VerdictExpired  Verdict = "expired"  // forgotten, or so late that it may be
	VerdictMismatch Verdict = "mismatch" // known with another fingerprint
	VerdictRunning  Verdict = "running"  // begun, and under a lease
	VerdictFailed   Verdict = "failed"   // not applied, and never will be
	VerdictUnknown  Verdict = "unknown"  // applied or not
)

// Scope is a namespace of operations with a horizon of its own.
type Scope struct {
	Name    string        // 1 to MaxScope bytes
	Horizon time.Duration // how long an operation is remembered after its end
	Counts
}

// Counts say how much there is of what, in a scope or in a whole ledger.
type Counts struct {
	Running, Applied, Failed, Unknown uint64 // operations by state; what has Lapsed counts as Unknown once that is written down
	Floors                            uint64 // identities of which names were seen; kept for ever
	Tombstones                        uint64 // of keys that have no floor
	Forked                            uint64 // operations that are Forked
}

// Records returns how many operations there are.
func (c Counts) Records() uint64 { return c.Running + c.Applied + c.Failed + c.Unknown }
