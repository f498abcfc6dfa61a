package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/opmint/opmint/api"
)

// Bounds for what is still read, and thrown away, from a client that was told to
// go away in the middle of its request. Most clients look for an answer only
// once they have sent everything.
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 16 << 20
)

// grace is the time for clients that are told to go away.
type grace struct {
	ask    time.Duration // to send a request, for one that is turned away
	linger time.Duration // to send the rest of one
}

// socket is what a connection is made of.
type socket interface {
	net.Conn
	CloseWrite() error
}

// conn is a client's connection. What net/http makes of a request that it cannot
// read, a plain text or nothing, leaves it as a problem.
type conn struct {
	socket
	server  *Server
	caller  caller
	closing atomic.Bool
	close   func() error // once

	reads, writes *direction
}

func (s *Server) newConn(c socket, who caller) *conn {
	s.inside.Add(1)
	return &conn{
		socket: c, server: s, caller: who, close: sync.OnceValue(func() error {
			defer s.inside.Done()
			defer who.account.disconnect()
			return c.Close()
		}),
		reads:  newDirection(c.Read, c.SetReadDeadline),
		writes: newDirection(c.Write, c.SetWriteDeadline),
	}
}

// Read reads into b.
func (c *conn) Read(b []byte) (int, error) { return c.reads.run(b) }

// SetReadDeadline implements [net.Conn].
func (c *conn) SetReadDeadline(t time.Time) error { return c.reads.set(t) }

// SetWriteDeadline implements [net.Conn].
func (c *conn) SetWriteDeadline(t time.Time) error { return c.writes.set(t) }

// SetDeadline implements [net.Conn].
func (c *conn) SetDeadline(t time.Time) error { return errors.Join(c.reads.set(t), c.writes.set(t)) }

// Close closes the connection and gives its place to another one.
func (c *conn) Close() error { return c.close() }

// How net/http answers by itself (net/http.conn.serve). No answer of a Server
// has these headers alone, nor the status 417.
var (
	plainRefusal = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")
	statusLine   = []byte("HTTP/1.1 ")
	tooLarge     = []byte("HTTP/1.1 431 ")
	badExpect    = []byte("HTTP/1.1 417 ")
)

// Write writes b, or a problem instead if b is a refusal by net/http.
func (c *conn) Write(b []byte) (int, error) {
	err := refusal(b)
	if err == nil {
		return c.writes.run(b)
	}
	p := api.NewProblem(err)
	c.server.noteRefusal(p, "uid", c.caller.uid)
	if _, err := c.writes.run(rawProblem(p)); err != nil {
		return 0, err
	}
	return len(b), c.CloseWrite()
}

// refusal returns what b refuses if it is an answer of net/http's own, else nil.
func refusal(b []byte) error {
	at := len(statusLine)
	if len(b) <= at || !bytes.HasPrefix(b, statusLine) || b[at] != '4' && b[at] != '5' {
		return nil
	}
	head, text, plain := bytes.Cut(b, plainRefusal)
	switch {
	case bytes.HasPrefix(b, badExpect):
		return fmt.Errorf("%w: the only expectation that can be met is 100-continue", api.ErrBadRequest)
	case !plain || bytes.Contains(head, []byte("\r\n")):
		return nil
	case bytes.HasPrefix(b, tooLarge):
		return fmt.Errorf("%w: a request's header holds at most %d bytes", api.ErrTooLarge, maxHeader)
	}
	return fmt.Errorf("%w: this is no HTTP/1 request, or only part of one (%s)", api.ErrBadRequest, text)
}

// rawProblem returns p as a whole HTTP answer, after which the connection ends.
func rawProblem(p *api.Problem) []byte {
	body, _ := json.Marshal(p) // strings and a number always have a JSON
	b := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n",
		p.Status, http.StatusText(p.Status), problemType[0], len(body)+1)
	if p.RetryAfter > 0 {
		b = fmt.Appendf(b, "Retry-After: %s\r\n", retryAfter(p))
	}
	return fmt.Appendf(b, "\r\n%s\n", body)
}

// CloseWrite tells the client that there is no more to come, and hears it out.
// net/http calls it before it closes on a client that may still be sending.
func (c *conn) CloseWrite() error {
	if c.closing.Swap(true) {
		return nil
	}
	if err := c.socket.CloseWrite(); err != nil {
		return err
	}
	if err := c.SetReadDeadline(time.Now().Add(c.server.grace.linger)); err != nil {
		return err
	}
	// However this ends, the connection is over.
	_, _ = io.CopyN(io.Discard, c, lingerBytes)
	return nil
}
