package server

import (
	"errors"
	"os"
	"sync"
	"time"
)

// direction is what a connection reads, or what it writes, with its deadline.
//
// net/http sets eight deadlines for each request, most of which nobody ever waits
// for. The socket, for which each is a timer, is told of one only when that comes
// before the one that it knows. When the one that it knows passes and the one that
// holds comes later, the wait goes on.
type direction struct {
	move  func([]byte) (int, error) // Read or Write of the socket
	tell  func(time.Time) error     // SetReadDeadline or SetWriteDeadline of the socket
	begun time.Time                 // of the connection

	mu     sync.Mutex
	holds  time.Time // the deadline that was set; zero is none
	known  time.Time // to the socket: while somebody moves, never after the one that holds
	moving int       // how many do
}

func newDirection(move func([]byte) (int, error), tell func(time.Time) error) *direction {
	return &direction{move: move, tell: tell, begun: time.Now()}
}

// sooner reports whether deadline a comes before deadline b.
func sooner(a, b time.Time) bool { return !a.IsZero() && (b.IsZero() || a.Before(b)) }

// set sets the deadline, also of a move under way.
func (d *direction) set(deadline time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holds = deadline
	if d.moving > 0 && sooner(d.holds, d.known) {
		return d.pass()
	}
	return nil
}

// pass passes the deadline on to the socket.
func (d *direction) pass() error {
	d.known = d.holds
	return d.tell(d.known)
}

// run moves b, or for reads a part of it, before the deadline.
func (d *direction) run(b []byte) (n int, err error) {
	if err := d.begin(); err != nil {
		return 0, err
	}
	defer d.end()
	for {
		part, err := d.move(b[n:])
		n += part
		if !errors.Is(err, os.ErrDeadlineExceeded) || !d.goesOn() {
			return n, err
		}
	}
}

// begin has the socket know a deadline by which a move ends.
func (d *direction) begin() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	// A deadline from before the connection is how net/http ends a read at once. The
	// socket need not learn of it when the read has not even begun, and if it did,
	// the next read would have to begin twice.
	if sooner(d.holds, d.begun) {
		return os.ErrDeadlineExceeded
	}
	if sooner(d.holds, d.known) || sooner(d.known, d.begun) {
		if err := d.pass(); err != nil {
			return err
		}
	}
	d.moving++
	return nil
}

func (d *direction) end() {
	d.mu.Lock()
	d.moving--
	d.mu.Unlock()
}

// goesOn reports whether a move that the socket broke off goes on, since the
// deadline is later than the socket knew.
func (d *direction) goesOn() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return sooner(d.known, d.holds) && d.pass() == nil
}
