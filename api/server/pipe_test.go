package server

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/opmint/opmint/keygen"
)

// pipes is a listener whose clients are in this process, so that their time can be
// that of a test's bubble.
type pipes struct {
	t       testing.TB
	server  *Server
	waiting chan net.Conn
	closed  chan struct{}
	close   func()
	stop    func()                       // begins the server's stop
	fail    atomic.Pointer[func() error] // why accept fails, if it does
}

// pipe is a connection of a given user.
type pipe struct {
	net.Conn
	uid uint32
}

// CloseWrite does nothing: the other end learns that there is no more when the
// pipe is closed.
func (pipe) CloseWrite() error { return nil }

func (p *pipes) Accept() (net.Conn, error) {
	if fail := p.fail.Load(); fail != nil {
		return nil, (*fail)()
	}
	select {
	case c := <-p.waiting:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.close(); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// dial connects as a user.
func (p *pipes) dial(uid uint32) net.Conn {
	client, server := net.Pipe()
	p.waiting <- pipe{server, uid}
	return client
}

// request sends a request on c and returns the answer's status and header.
func (p *pipes) request(c net.Conn, sent string) *http.Response {
	p.t.Helper()
	if _, err := io.WriteString(c, sent); err != nil {
		p.t.Fatalf("%.60q: %v", sent, err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		p.t.Fatalf("%.60q: %v", sent, err)
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		p.t.Fatalf("%.60q: %v", sent, err)
	}
	return answer
}

// inBubble runs a test with a server at pipes, in a bubble of its own. The server
// is stopped afterwards.
func inBubble(t *testing.T, class keygen.Class, configure func(*Server), test func(t *testing.T, p *pipes)) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(t, class, 0)
		s.UID = 990
		configure(s)
		s.accounts = newAccounts(s.Limits, s.UID)
		closed := make(chan struct{})
		p := &pipes{
			t: t, server: s, waiting: make(chan net.Conn), closed: closed, close: sync.OnceFunc(func() { close(closed) }),
		}
		ctx, stop := context.WithCancel(t.Context())
		p.stop = stop
		served := make(chan error)
		go func() {
			served <- s.serveAt(ctx, s.newDoor(p, func(c socket) caller { return caller{uid: c.(pipe).uid} }))
		}()
		defer func() {
			stop()
			if err := <-served; err != nil {
				t.Error(err)
			}
			synctest.Wait() // for handlers that were cut off
			users, connections, requests := s.accounts.count()
			if left := s.accounts.connections.left; cmp.Or(users, int(connections), int(requests)) != 0 ||
				left != int64(s.accounts.limits.AllConnections) || s.accounts.bodies.left != bodiesOfAll {
				t.Errorf("afterwards there are %d users, %d connections, %d requests, room for %d and %d bytes",
					users, connections, requests, left, s.accounts.bodies.left)
			}
		}()
		test(t, p)
	})
}
