package api

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// Clock is a Minter's idea of time, for tests.
type Clock struct {
	mu sync.Mutex
	Time
}

// Time is what the clocks say, or an amount of time.
type Time struct {
	Monotonic, Wall time.Duration
	Ticks           uint64
}

// Pass makes so much time pass.
func (c *Clock) Pass(d Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Monotonic += d.Monotonic
	c.Wall += d.Wall
	c.Ticks += d.Ticks
}

func (c *Clock) read() Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Time
}

// Follow makes m believe in c.
func (m *Minter) Follow(c *Clock) {
	m.now = func() instant { t := c.read(); return instant{monotonic: t.Monotonic, wall: t.Wall} }
	m.ticks = func() uint64 { return c.read().Ticks }
}

// Asking reports whether m is asking for a lease.
func (m *Minter) Asking() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asking != nil
}

// Settle waits until m is not asking for a lease.
func (m *Minter) Settle() {
	m.mu.Lock()
	a := m.asking
	m.mu.Unlock()
	if a != nil {
		<-a.done
	}
}

// ClientOf returns a client whose daemon is at the other end of what dial returns.
func ClientOf(dial func() net.Conn) *Client {
	c := &Client{Socket: "pipe"}
	c.once.Do(c.open)
	c.http.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
		return dial(), nil
	}
	return c
}

// Silence is how long a daemon may say nothing.
const Silence = silence

// Ticks of the real counter, and how many of them may pass unseen.
var Ticks = ticks

const (
	TicksApart = ticksApart
	SmallLease = smallLease
	RunLength  = runLength
)
