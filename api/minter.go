package api

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/opmint/opmint/keygen"
)

// ErrMinterClosed says that a [Minter] was used after its Close.
var ErrMinterClosed = errors.New("the minter is closed")

// Minter mints names in the program's own process, from leases that it takes from
// the daemon. It is safe for concurrent use, and made by [Client.Minter].
//
//	daemon → lease → runs of 1024 names, one for each goroutine at a time → names
//
// It takes the next lease before it runs dry. Each is twice as large as the one
// before, up to [MaxLease], as long as they are used up, and smaller again when
// they are not. What is left of a lease when it ends is never minted, which is no
// loss: an epoch has 2^40 names, and a claim gets another.
//
// # When it stops
//
// A lease lasts for 1 second in classes v and j, for a minute in class h. It is
// dropped 10 milliseconds before that, by the monotonic or by the wall clock,
// whichever is first, and at once when the daemon closes the connection that it
// came over. Then there are no names until the daemon grants another lease: nothing
// is made up.
//
// Before each name the Minter sees whether time has passed, so that a program that
// was stopped, or whose machine slept, mints nothing from a lease that ended
// meanwhile. Only a name that a goroutine is just about to return may come late:
// one for each goroutine.
//
// # Copies
//
// A lease is void in a copy of the process. Go programs do not fork without exec.
// Whoever takes a checkpoint of a process, or a snapshot of its machine with the
// memory, and goes on with it twice, has its names twice, until the lease ends.
type Minter struct {
	client     Client // with a connection of its own
	background context.Context
	stop       context.CancelFunc
	now        func() instant
	ticks      func() uint64

	// A pool keeps a run for each processor, and gives it out without a lock. What
	// it drops is a run's names, no more.
	runs    sync.Pool
	current atomic.Pointer[granted]

	mu     sync.Mutex
	next   *granted // the successor of current, or nil
	asking *asking  // for a successor, or nil
	closed bool
}

// run is a part of a lease, for one goroutine at a time.
type run struct {
	keygen.Run
	of   *granted
	seen uint64 // the ticks at the last look at the clocks
}

// Minter returns a Minter that talks to the same daemon as c, over a connection
// of its own, from its first name on. Whoever is done with it closes it.
func (c *Client) Minter() *Minter {
	c.once.Do(c.open)
	m := &Minter{now: now, ticks: ticks}
	m.runs.New = func() any { return new(run) }
	m.background, m.stop = context.WithCancel(context.Background())
	m.client.Socket = c.socket
	m.client.once.Do(m.client.open)
	watchConnections(m.client.http.Transport.(*http.Transport))
	return m
}

// Close drops all leases. Names that were minted stay what they are; there are no
// more.
func (m *Minter) Close() {
	m.mu.Lock()
	m.closed = true
	a := m.asking
	m.mu.Unlock()
	m.stop()
	if a != nil {
		<-a.done
	}
	if g := m.current.Load(); g != nil {
		// The runs that are still about are all of this connection.
		_ = g.connected.Close()
	}
	m.client.http.CloseIdleConnections()
}

// AppendName appends a name that was never minted before, as its 58 characters.
// It allocates nothing where dst has room. Mostly it returns at once; ctx bounds
// how long it waits for the daemon when it has to. Errors are those of
// [Client.Lease], and ErrMinterClosed.
func (m *Minter) AppendName(ctx context.Context, dst []byte) ([]byte, error) {
	r, err := m.run(ctx)
	if err != nil {
		return dst, err
	}
	dst, err = r.AppendName(dst)
	m.runs.Put(r)
	return dst, err
}

// Name returns a name that was never minted before; see [Minter.AppendName].
func (m *Minter) Name(ctx context.Context) (keygen.Name, error) {
	r, err := m.run(ctx)
	if err != nil {
		return keygen.Name{}, err
	}
	name, err := r.Name()
	m.runs.Put(r)
	return name, err
}

// run returns a run with a name that may be minted now.
func (m *Minter) run(ctx context.Context) (*run, error) {
	r := m.runs.Get().(*run)
	if m.ready(r) {
		return r, nil
	}
	if err := m.refill(ctx, r); err != nil {
		return nil, err
	}
	return r, nil
}

// ready reports whether r has a name that may be minted now.
//
// To read both clocks takes twice as long as to make a name. The CPU's counter,
// which goes on while the process is stopped, is read instead, to see whether the
// clocks have to be: they are if it moved by more than ticksApart, or back, as
// after a machine's sleep.
func (m *Minter) ready(r *run) bool {
	if r.Left() == 0 || r.of.connected.over.Load() {
		return false
	}
	return m.ticks()-r.seen < ticksApart || m.look(r)
}

// look reads the clocks, and reports whether the lease of r is good.
func (m *Minter) look(r *run) bool {
	seen, now := m.ticks(), m.now()
	if !r.of.good(now) {
		return false
	}
	r.seen = seen
	if r.of.spent(now) {
		m.prefetch(r.of)
	}
	return true
}
