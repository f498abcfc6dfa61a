package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
)

// Keeper keeps a ledger in a store, and answers for all callers. Its methods may
// be called at once.
type Keeper struct {
	store   store.Store
	limits  Limits
	horizon int64 // of new scopes, in milliseconds
	time    *timer
	queue   queue
	report  func(error)
	minLog  uint64 // minLog, but in tests

	saved   atomic.Int64  // the ledger's time at the last commit
	refused atomic.Uint64 // calls, as ErrExpired
	forks   atomic.Uint64
	behind  atomic.Bool // more is to be purged than the last commit did

	mu     sync.Mutex
	claims map[keygen.Identity]uint64 // epochs from which on names are new though the ledger is suspect
	chains map[uint32]bool            // those that are busy
	events uint64                     // the number of the last one
	news   chan struct{}              // closed with the next event
}

// Open opens the ledger in s, a new one if s is empty. The store stays the caller's
// to close, after the Keeper. What is no ledger, or damaged, is store.ErrDamaged;
// a Config out of bounds is ErrInvalid.
func Open(ctx context.Context, s store.Store, c Config) (*Keeper, error) {
	k, err := open(ctx, s, c)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	return k, nil
}

func open(ctx context.Context, s store.Store, c Config) (*Keeper, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	k := &Keeper{
		store: s, limits: c.Limits, horizon: c.Horizon.Milliseconds(), minLog: minLog, report: c.Report,
		queue:  queue{turn: make(chan struct{}, 1), uids: map[uint32]int{}},
		claims: map[keygen.Identity]uint64{}, chains: map[uint32]bool{}, news: make(chan struct{}),
	}
	t := newTx(ctx, s)
	if err := t.begin(); err != nil {
		return nil, err
	}
	if len(t.found) == 0 {
		if err := t.make(c.Clock); err != nil {
			return nil, err
		}
	}
	k.time = newTimer(c.Clock, t.head)
	k.saved.Store(t.head.time)
	k.events = t.head.events
	if err := k.findBusy(ctx); err != nil {
		return nil, err
	}
	if c.Restored {
		return k, k.Suspect(ctx, 0)
	}
	return k, nil
}

// make makes a new ledger.
func (t *tx) make(clock Clock) error {
	others, err := t.store.Scan(t.ctx, nil, nil, 1)
	if err != nil {
		return err
	}
	if len(others) > 0 {
		return fmt.Errorf("%w: it holds record %.80q, but no ledger", store.ErrDamaged, others[0].Key)
	}
	if _, err := rand.Read(t.head.id[:]); err != nil {
		return err
	}
	t.wall = millisOf(clock.Wall())
	t.now, t.head.since = t.wall, t.wall
	return t.commit()
}

// findBusy finds the chains whose checkpoint is not done.
func (k *Keeper) findBusy(ctx context.Context) error {
	return eachChain(ctx, k.store, func(owner uint32, c *chain) error {
		if c.busy(k.minLog) {
			k.chains[owner] = true
		}
		return nil
	})
}

// busyChain returns a chain whose checkpoint is not done.
func (k *Keeper) busyChain() (owner uint32, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for owner := range k.chains {
		return owner, true
	}
	return 0, false
}

// restChain takes note that a chain is not busy.
func (k *Keeper) restChain(owner uint32) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.chains, owner)
}

// committed takes note of what t has changed.
func (k *Keeper) committed(t *tx) {
	k.saved.Store(t.now)
	k.forks.Add(t.forks)
	k.behind.Store(t.behind)
	k.mu.Lock()
	defer k.mu.Unlock()
	for owner := range t.logs {
		if t.records[ownerKey(kindChain, owner)].(*chain).busy(k.minLog) {
			k.chains[owner] = true
		}
	}
	if t.head.events > k.events {
		k.events = t.head.events
		close(k.news)
		k.news = make(chan struct{})
	}
}

// Close writes down the time, after all that waits to be written. Later calls that
// would change something are refused as ErrUnavailable. Closing again does nothing.
func (k *Keeper) Close(ctx context.Context) error {
	last := &call{uid: sharedOwner, ops: 1, done: make(chan struct{}), decide: saveTheTime}
	if !k.queue.last(last) {
		return nil
	}
	if err := k.wait(ctx, last); err != nil {
		return fmt.Errorf("close ledger: %w", err)
	}
	return nil
}

// As returns the ledger as the user with that uid sees it.
func (k *Keeper) As(uid uint32) Ledger { return &view{keeper: k, uid: uid} }

// counted counts an error for the metrics.
func (k *Keeper) counted(err error) error {
	if errors.Is(err, ErrExpired) {
		k.refused.Add(1)
	}
	return err
}

// Info returns what the ledger is, as of now.
func (k *Keeper) Info(ctx context.Context) (Info, error) {
	t := k.read(ctx)
	if err := t.begin(); err != nil {
		return Info{}, unavailable(err)
	}
	return Info{ID: t.head.id, Since: timeAt(t.head.since), Events: t.head.events, Suspect: t.head.suspect}, nil
}

// Stats returns figures for metrics. It reads a few records.
func (k *Keeper) Stats(ctx context.Context) (Stats, error) {
	t := k.read(ctx)
	if err := t.begin(); err != nil {
		return Stats{}, unavailable(err)
	}
	stats := Stats{
		Counts: t.head.counts, Scopes: t.head.scopes, Bytes: t.head.bytes, LogBytes: t.head.logBytes,
		Expired: k.refused.Load(), Forks: k.forks.Load(),
	}
	k.queue.mu.Lock()
	stats.Waiting = len(k.queue.waiting)
	k.queue.mu.Unlock()
	records, err := k.store.Scan(ctx, []byte{kindSince}, nil, 1)
	if err != nil {
		return Stats{}, unavailable(err)
	}
	if len(records) > 0 {
		since, _ := timeOf(records[0].Key)
		stats.OldestUnknown = max(time.Duration(t.now-since)*time.Millisecond, time.Millisecond)
	}
	return stats, nil
}
