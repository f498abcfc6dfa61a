package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/opmint/opmint/keygen"
)

// Bounds of intents and streams.
const (
	MaxIntent = 512 // bytes of an intent, at least 1
	MaxStream = 128 // bytes of a stream, at least 1

	// DefaultRetain is how long an intent is remembered unless its caller says
	// otherwise, or the horizon is shorter.
	DefaultRetain = 168 * time.Hour
	// MinRetain is the shortest time to remember one.
	MinRetain = time.Millisecond

	// tombstones stand so many times as long as what they are of.
	tombstoneTimes = 10
)

// What can be wrong with an intent or a stream, for errors.Is.
var (
	// ErrExpired says that an intent was forgotten, or a number of a stream ended:
	// what it stood for may have been carried out.
	ErrExpired = errors.New("expired")
	// ErrMismatch says that an intent is known with another fingerprint.
	ErrMismatch = errors.New("fingerprint mismatch")
	// ErrUnknown says that there is no such intent, stream or number.
	ErrUnknown = errors.New("not known")
	// ErrQuota says that a user has as many intents or streams as one may have.
	ErrQuota = errors.New("quota used up")
)

// Minter is what mints the names of intents; it is a [keygen.Minter], or one after
// the other. All methods are called by many goroutines at once.
type Minter interface {
	// Class returns the class of the names that are minted now.
	Class() keygen.Class
	// Epoch returns whose names are minted now, and under which epoch.
	Epoch() (keygen.Identity, uint64, error)
	// Lease takes a lease of up to count names.
	Lease(ctx context.Context, count uint64) (*keygen.Lease, error)
}

// IntentsConfig is what [Intents] need.
type IntentsConfig struct {
	Minter Minter    // of names
	Random io.Reader // for editions; as for the keys of leases

	// Boot is the boot-time clock: it is never set and goes on while the machine
	// sleeps (CLOCK_BOOTTIME in clock_gettime(2)).
	Boot func() time.Duration

	Horizon    time.Duration // the longest that an intent can be remembered
	MaxIntents uint64        // of a user at a time, those in streams too
	MaxStreams uint64        // of a user at a time

	// Failed, unless it is nil, is told of each write that failed, whatever its
	// callers do about it: after a store.ErrOutcomeUnknown there is nothing to go
	// on with.
	Failed func(error)
}

// Intents is the part of a journal that knows which names were given to which
// intents, each user's (uid) apart. Its methods may be called at once.
type Intents struct {
	IntentsConfig
	journal *Journal
	clock   *clock
	batcher *batcher
	known   atomic.Pointer[knownHead]
}

// Intents returns the journal's intents. It is called once.
func (j *Journal) Intents(ctx context.Context, c IntentsConfig) (*Intents, error) {
	clock, err := openClock(ctx, committed{j.store}, c.Boot, j.time())
	if err != nil {
		return nil, fmt.Errorf("open intents: %w", err)
	}
	return &Intents{IntentsConfig: c, journal: j, clock: clock, batcher: newBatcher(j.store, c.Failed)}, nil
}

// ValidIntent says what is wrong with the text of an intent, with
// [keygen.ErrInvalid], or nil: it is any UTF-8 of 1 to MaxIntent bytes.
func ValidIntent(text string) error { return validText("an intent", text, MaxIntent) }

// ValidStream is ValidIntent for a stream, of 1 to MaxStream bytes.
func ValidStream(text string) error { return validText("a stream", text, MaxStream) }

func validText(what, text string, most int) error {
	if len(text) < 1 || len(text) > most {
		return fmt.Errorf("%w: %s of %d bytes: 1 to %d", keygen.ErrInvalid, what, len(text), most)
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("%w: %s that is not UTF-8: %.80q", keygen.ErrInvalid, what, text)
	}
	return nil
}

// ValidRetain says what is wrong with a time to remember an intent, with
// [keygen.ErrInvalid], or nil: it is MinRetain to the horizon.
func (in *Intents) ValidRetain(retain time.Duration) error {
	if retain < MinRetain || retain > in.Horizon {
		return fmt.Errorf("%w: retain %v: %v to the horizon, %v", keygen.ErrInvalid, retain, MinRetain, in.Horizon)
	}
	return nil
}

// Ask is what is asked of an intent.
type Ask struct {
	Intent      string        // see ValidIntent
	Fingerprint Fingerprint   // of what is sent under the name
	Retain      time.Duration // see ValidRetain; 0: DefaultRetain, or the horizon where that is shorter
}

// Intent is what is known of an intent.
type Intent struct {
	Intent      string      // as it was asked for
	Name        keygen.Name // of class h, v or j
	Fingerprint Fingerprint // as the first who asked said
	Created     time.Time   // by the wall clock
	Expires     time.Time   // by the same clock; it is not forgotten before
	Replayed    bool        // it was known
	Since       time.Time   // since when memory is unbroken, see [Journal.Since]
}

// Name returns the name of an intent, which is the same for everybody who asks, at
// any time until it is forgotten. It is durable when it is returned.
//
// The fingerprint, and with it whether there is one, is that of the first who
// asked, and so is the time to remember it. Another fingerprint, none where there
// is one, and one where there is none, are ErrMismatch: nobody could say that it
// is the same operation.
//
// ErrExpired: it was known and is forgotten. ErrQuota: the user has too many.
// After a store.ErrOutcomeUnknown the intent has its one name or none; asking
// again, of the next start, says which.
func (in *Intents) Name(ctx context.Context, uid uint32, a Ask) (Intent, error) {
	if a.Retain == 0 {
		a.Retain = min(DefaultRetain, in.Horizon)
	}
	if err := cmp.Or(ValidIntent(a.Intent), in.ValidRetain(a.Retain)); err != nil {
		return Intent{}, err
	}
	n := &naming{Intents: in, uid: uid, ask: a}
	found, err := n.recall(ctx, committed{in.journal.store})
	if err == nil && !found {
		err = in.batcher.commit(ctx, func(s *step) error { return n.enter(ctx, s) })
	}
	if err != nil {
		return Intent{}, fmt.Errorf("name intent %.80q: %w", a.Intent, err)
	}
	return n.result, nil
}

// naming is a call of Name.
type naming struct {
	*Intents
	uid    uint32
	ask    Ask
	tried  bool        // to enter it
	minted keygen.Name // for this call, or zero
	result Intent
}

// recall finds an intent that is known, and reports whether it is.
func (n *naming) recall(ctx context.Context, from reader) (found bool, err error) {
	known, found, err := n.find(ctx, from, n.uid, n.ask.Intent)
	if err != nil || !found {
		return false, err
	}
	if known.fingerprint != n.ask.Fingerprint {
		return false, fmt.Errorf("%w: it is known with fingerprint %v and was asked for with %v: "+
			"another operation needs another intent", ErrMismatch, known.fingerprint, n.ask.Fingerprint)
	}
	n.result, err = n.tell(ctx, from, n.ask.Intent, &known)
	n.result.Replayed = true
	return true, err
}

// enter gives a new intent its name.
func (n *naming) enter(ctx context.Context, s *step) error {
	key := intentKey(n.uid, n.ask.Intent)
	if !n.tried {
		// It was looked for just now.
		s.assume(key)
		s.assume(tombstoneKey(n.uid, key))
		n.tried = true
	}
	if found, err := n.recall(ctx, s); found || err != nil {
		return err
	}
	if err := n.count(ctx, s, n.uid, counts{intents: 1}); err != nil {
		return err
	}
	if err := n.mint(ctx, &n.minted); err != nil {
		return err
	}
	retain := uint64(n.ask.Retain / time.Millisecond)
	r := intentRecord{
		created: n.journal.time(), expires: n.clock.now() + retain, retain: retain,
		fingerprint: n.ask.Fingerprint, name: n.minted,
	}
	s.set(key, r.encode())
	s.set(dueKey(r.expires, key), present)
	var err error
	n.result, err = n.tell(ctx, s, n.ask.Intent, &r)
	return err
}

// mint mints a name, unless it was minted before for an attempt that came to
// nothing.
func (in *Intents) mint(ctx context.Context, name *keygen.Name) error {
	if !name.IsZero() {
		return nil
	}
	lease, err := in.Minter.Lease(ctx, 1)
	if err == nil {
		*name, err = lease.Name(0)
	}
	if err != nil {
		return fmt.Errorf("mint: %w", err)
	}
	return nil
}
