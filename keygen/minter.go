package keygen

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

// Errors of a [Minter].
var (
	// ErrWentBack says that the counter returned a value not above one that it
	// returned before: it was rolled back or breaks its contract. The Minter
	// that saw it mints no more, for ever.
	ErrWentBack = errors.New("the counter went back")

	// ErrExhausted says that the counter is beyond what a name can hold.
	ErrExhausted = errors.New("no epochs left")
)

// Counter is where a Minter's epochs come from.
type Counter interface {
	// Next claims an epoch: a value above every value it returned before, over
	// restarts too, that nobody else was or will be given under the same
	// identity. When it cannot be sure of that it returns an error, and the
	// value, if there was one, is burned. It returns soon after ctx is done.
	Next(ctx context.Context) (uint64, error)
}

// MinterConfig is what a [Minter] needs.
type MinterConfig struct {
	Class    Class    // h, v or j
	Identity Identity // whose names are minted
	Counter  Counter  // where epochs come from; called by one goroutine at a time

	// Random is read for lease keys, 16 bytes at a time, by many goroutines at
	// once; nil means [crypto/rand.Reader].
	Random io.Reader

	// NamesPerEpoch bounds the seqs used under one epoch, 1 to MaxSeq+1;
	// 0 means MaxSeq+1.
	NamesPerEpoch uint64
}

// Minter hands out leases, each with seqs that no other lease has and a key of
// its own, all of one identity. It is safe for concurrent use: all but the claim
// of a new epoch is lock-free. It is made by [NewMinter]; whoever is to mint under
// another identity makes another one, with a counter of that identity.
type Minter struct {
	class    Class
	identity Identity
	counter  Counter
	random   io.Reader
	limit    uint64 // seqs per epoch

	current  atomic.Pointer[openEpoch]
	claiming chan struct{} // holds a token while somebody claims; guards what follows
	claimed  bool          // the counter has answered: highest is its last value
	highest  uint64
}

// openEpoch is an epoch under which names are minted.
type openEpoch struct {
	number uint64
	stem                 // of its names
	next   atomic.Uint64 // the lowest seq not handed out; beyond the limit when used up
	err    error         // why there is no epoch: then the limit is reached from the start
}

// NewMinter claims an epoch from the counter and returns a Minter that mints
// under it. A config that no name can have is an [ErrInvalid]; errors of the
// counter are returned wrapped.
func NewMinter(ctx context.Context, c MinterConfig) (*Minter, error) {
	switch {
	case !c.Class.minted():
		return nil, invalid("minter of %v: names are minted in classes h, v and j", c.Class)
	case c.Identity.IsZero():
		return nil, invalid("minter without an identity")
	case c.Counter == nil:
		return nil, invalid("minter without a counter")
	case c.NamesPerEpoch > MaxSeq+1:
		return nil, invalid("%d names an epoch: at most %d", c.NamesPerEpoch, MaxSeq+1)
	}
	m := &Minter{class: c.Class, identity: c.Identity, counter: c.Counter, random: c.Random, limit: c.NamesPerEpoch}
	if m.random == nil {
		m.random = rand.Reader
	}
	if m.limit == 0 {
		m.limit = MaxSeq + 1
	}
	m.claiming = make(chan struct{}, 1)
	if err := m.replace(ctx, nil); err != nil {
		return nil, err
	}
	return m, nil
}

// Class returns the class of the names.
func (m *Minter) Class() Class { return m.class }

// Epoch returns whose names are minted now and the number of their epoch; the
// error is why there is none.
func (m *Minter) Epoch() (Identity, uint64, error) {
	e := m.current.Load()
	return m.identity, e.number, e.err
}

// Left returns how many seqs of the open epoch nobody has, 0 to MaxSeq+1: what
// can be minted without another claim.
func (m *Minter) Left() uint64 {
	e := m.current.Load()
	next := e.next.Load()
	if e.err != nil || next >= m.limit {
		return 0
	}
	return m.limit - next
}

// Lease takes up to count seqs, 1 to MaxSeq+1, in one epoch: count of them
// unless the epoch holds fewer, and at least one. Callers that need more ask
// again. It claims a new epoch when the open one is used up; an error uses up
// nothing.
func (m *Minter) Lease(ctx context.Context, count uint64) (*Lease, error) {
	if count < 1 || count > MaxSeq+1 {
		return nil, invalid("lease of %d names: 1 to %d", count, MaxSeq+1)
	}
	l := &Lease{terms: Terms{Class: m.class, Identity: m.identity}}
	if _, err := io.ReadFull(m.random, l.terms.Key[:]); err != nil {
		return nil, fmt.Errorf("draw a lease key: %w", err)
	}
	if err := l.useKey(); err != nil {
		return nil, err
	}
	for {
		e := m.current.Load()
		if e.take(m.limit, count, l) {
			return l, nil
		}
		if err := m.replace(ctx, e); err != nil {
			return nil, err
		}
	}
}

// take gives l up to count seqs of e, or reports that there are none left.
func (e *openEpoch) take(limit, count uint64, l *Lease) bool {
	// Asking before adding bounds how far next can run beyond the limit.
	if e.err != nil || e.next.Load() >= limit {
		return false
	}
	first := e.next.Add(count) - count
	if first >= limit {
		return false
	}
	l.terms.Epoch, l.terms.First, l.terms.Count = e.number, first, min(count, limit-first)
	l.stem = e.stem
	return true
}

// replace opens a new epoch in place of e, nil for none, unless somebody else did
// already.
func (m *Minter) replace(ctx context.Context, e *openEpoch) error {
	if err := m.lock(ctx); err != nil {
		return err
	}
	defer m.unlock()
	if m.current.Load() != e {
		return nil
	}
	return m.open(ctx)
}

func (m *Minter) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("open an epoch: %w", err)
	}
	select {
	case m.claiming <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("open an epoch, waiting for another claim: %w", ctx.Err())
	}
}

func (m *Minter) unlock() { <-m.claiming }

// open claims an epoch and makes it the current one; its caller holds the token.
func (m *Minter) open(ctx context.Context) error {
	if e := m.current.Load(); e != nil && e.err != nil {
		return e.err
	}
	number, err := m.counter.Next(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("open an epoch: %w", err)
	case m.claimed && number <= m.highest:
		err = fmt.Errorf("open an epoch: %w: it returned %d after %d", ErrWentBack, number, m.highest)
		m.current.Store(&openEpoch{err: err})
		return err
	}
	m.claimed, m.highest = true, number
	if number > MaxEpoch {
		return fmt.Errorf("open an epoch: %w: the counter is at %d, a name holds %d", ErrExhausted, number, MaxEpoch)
	}
	m.current.Store(&openEpoch{number: number, stem: newStem(m.class, m.identity, number)})
	return nil
}
