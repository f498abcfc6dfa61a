package api

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/opmint/opmint/keygen"
)

const (
	longestLife = time.Minute           // of a lease
	granularity = 10 * time.Millisecond // how much earlier than its end a lease is dropped
)

// asking is a request for a lease under way.
type asking struct {
	done chan struct{}
	err  error // once done
}

// refill gives r names of a lease that is good. On an error r stays what it was.
func (m *Minter) refill(ctx context.Context, r *run) error {
	for {
		g := m.current.Load()
		if g != nil && m.draw(r, g) {
			return nil
		}
		if err := m.replace(ctx, g); err != nil {
			return fmt.Errorf("mint: %w", err)
		}
	}
}

// draw gives r names of g, if g is good and has some left.
func (m *Minter) draw(r *run, g *granted) bool {
	seen, now := m.ticks(), m.now()
	if !g.good(now) {
		return false
	}
	i, n := g.take()
	if n == 0 || r.Reset(g.Lease, i, n) != nil {
		return false
	}
	r.of, r.seen = g, seen
	if g.spent(now) {
		m.prefetch(g)
	}
	return true
}

// prefetch asks for the successor of g, once.
func (m *Minter) prefetch(g *granted) {
	if g.prefetched.Swap(true) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed && m.asking == nil && m.current.Load() == g {
		m.ask(g)
	}
}

// replace puts the successor of g in place, unless somebody else did already, or
// waits for one.
func (m *Minter) replace(ctx context.Context, g *granted) error {
	a, err := m.advance(g)
	if a == nil {
		return err
	}
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return fmt.Errorf("wait for a lease: %w", context.Cause(ctx))
	}
}

// advance puts the successor of g in place, if there is one, or else returns what
// is to be waited for.
func (m *Minter) advance(g *granted) (*asking, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return nil, ErrMinterClosed
	case m.current.Load() != g:
		return nil, nil
	case m.next != nil && m.next.good(m.now()):
		m.current.Store(m.next)
		m.next = nil
		return nil, nil
	case m.asking == nil:
		m.ask(g)
	}
	return m.asking, nil
}

// ask asks for the successor of g, which is nil at first. Its caller holds mu.
func (m *Minter) ask(g *granted) {
	count := uint64(smallLease)
	if g != nil {
		count = g.successor()
	}
	a := &asking{done: make(chan struct{})}
	m.asking = a
	go func() {
		next, err := m.borrow(m.background, count)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.next, m.asking, a.err = next, nil, err
		close(a.done)
	}()
}

// connection is a Minter's connection to the daemon. The transport closes it as
// soon as the daemon's end is closed, by a daemon that stops or dies; the leases
// that came over it are void from then on.
type connection struct {
	net.Conn
	over atomic.Bool
}

// Close closes the connection.
func (c *connection) Close() error {
	c.over.Store(true)
	return c.Conn.Close()
}

// watchConnections makes each connection of t a [connection].
func watchConnections(t *http.Transport) {
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &connection{Conn: c}, nil
	}
}

// borrow asks the daemon for a lease of count names.
func (m *Minter) borrow(ctx context.Context, count uint64) (*granted, error) {
	g := &granted{taken: m.now()}
	answer, err := m.client.Lease(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { g.connected = info.Conn.(*connection) },
	}), count)
	if err != nil {
		return nil, err
	}
	if g.Lease, err = keygen.NewLease(answer.Terms()); err != nil {
		return nil, fmt.Errorf("opmintd at %s granted a lease that cannot be: %w", m.client.socket, err)
	}
	if answer.Life() > longestLife {
		return nil, fmt.Errorf("opmintd at %s granted a lease of %v: the longest is %v", m.client.socket, answer.Life(), longestLife)
	}
	g.life = answer.Life() - granularity
	if !g.good(m.now()) {
		return nil, fmt.Errorf("%w: a lease of %v was over, or opmintd gone, when its answer was read after %v",
			ErrUnavailable, answer.Life(), g.age(m.now()))
	}
	return g, nil
}
