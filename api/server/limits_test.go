package server

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opmint/opmint/keygen"
)

// wantOverloaded checks that a request on a new connection of a user is refused.
func (p *pipes) wantOverloaded(uid uint32, sent string, status int, after string) {
	p.t.Helper()
	c := p.dial(uid)
	defer closeAll([]net.Conn{c})
	answer := p.request(c, sent)
	if answer.StatusCode != status || answer.Header.Get("Retry-After") != after ||
		answer.Header.Get("Content-Type") != "application/problem+json" {
		p.t.Errorf("uid %d: %s, %v, want %d", uid, answer.Status, answer.Header, status)
	}
}

// wantServed checks that a new connection of a user is served.
func (p *pipes) wantServed(uid uint32) {
	p.t.Helper()
	c := p.dial(uid)
	defer closeAll([]net.Conn{c})
	if answer := p.request(c, post("/v1/names")); answer.StatusCode != 201 {
		p.t.Errorf("uid %d: %s", uid, answer.Status)
	}
}

// dialMany connects n times as a user.
func (p *pipes) dialMany(uid uint32, n int) (all []net.Conn) {
	for range n {
		all = append(all, p.dial(uid))
	}
	return all
}

func closeAll(all []net.Conn) {
	for _, c := range all {
		c.Close()
	}
	synctest.Wait()
}

func TestConnectionsOfOne(t *testing.T) {
	inBubble(t, keygen.ClassH, func(s *Server) { s.Limits.Connections = 3 }, func(t *testing.T, p *pipes) {
		three := p.dialMany(1000, 3)
		p.wantOverloaded(1000, post("/v1/names"), 429, "1")
		p.wantServed(1001)
		p.wantServed(0)
		three[0].Close()
		synctest.Wait()
		p.wantServed(1000)
		closeAll(three)
	})
}

// TestTurnedAway: one that is turned away and says nothing is cut off, and when
// many are, the others are not waited for. They get their answer, however slow they
// and the daemon are.
func TestTurnedAway(t *testing.T) {
	inBubble(t, keygen.ClassH, func(s *Server) { s.Limits.Connections = 1 }, func(t *testing.T, p *pipes) {
		start := time.Now()
		first := p.dial(1000)
		silent := p.dialMany(1000, turnedAway)
		late := p.dial(1000)
		time.Sleep(askTime / 2)
		answer := make([]byte, len("HTTP/1.1 429"))
		if _, err := io.ReadFull(late, answer); err != nil || string(answer) != "HTTP/1.1 429" {
			t.Errorf("%q, %v", answer, err)
		}
		p.wantServed(1001)
		for _, c := range append(silent, late) {
			if _, err := c.Read(make([]byte, 1)); err == nil {
				t.Error("an answer that was not asked for")
			}
		}
		if passed := time.Since(start); passed != askTime {
			t.Errorf("cut off after %v", passed)
		}
		closeAll(append(silent, first, late))
	})
}

// TestConnectionsOfAll: however many users take all that they can get, there is
// room for another one, and for root and the daemon's user when all is full.
func TestConnectionsOfAll(t *testing.T) {
	limit := func(s *Server) { s.Limits.AllConnections = 24 + ownerReserve }
	inBubble(t, keygen.ClassH, limit, func(t *testing.T, p *pipes) {
		var all []net.Conn
		for i, share := range []int{12, 6, 3, 1, 1, 1} {
			uid := uint32(1000 + i)
			all = append(all, p.dialMany(uid, share)...)
			if i < 5 {
				p.wantOverloaded(uid, post("/v1/names"), 503, "1")
				p.wantServed(uid + 1)
			}
		}
		p.wantOverloaded(1006, post("/v1/names"), 503, "1")
		p.wantServed(0)
		p.wantServed(990)
		all = append(all, p.dialMany(990, ownerReserve/2)...)
		p.wantServed(0)
		closeAll(all)
		p.wantServed(1006)
	})
}

func TestRequestsInFlight(t *testing.T) {
	inBubble(t, keygen.ClassH, func(s *Server) { s.Limits.Requests = 2 }, func(t *testing.T, p *pipes) {
		half := p.dialMany(1000, 2)
		for _, c := range half {
			if _, err := io.WriteString(c, with("Content-Length: 2")+"{"); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		p.wantOverloaded(1000, post("/v1/names"), 429, "1")
		p.wantServed(1001)
		half[0].Close()
		synctest.Wait()
		p.wantServed(1000)
		closeAll(half)
	})
}

// TestNamesASecond: names and leases count, those of one user only, and what is
// refused uses up nothing.
func TestNamesASecond(t *testing.T) {
	inBubble(t, keygen.ClassH, func(s *Server) { s.Limits.Names = 100 }, func(t *testing.T, p *pipes) {
		c := p.dial(1000)
		defer c.Close()
		for _, step := range []struct {
			sent   string
			status int
			after  string
		}{
			{post("/v1/names?count=60"), 201, ""},
			{lend(`{"count":60}`), 201, ""},
			{post("/v1/names"), 429, "1"},
			{lend(`{"count":1}`), 429, "1"},
		} {
			answer := p.request(c, step.sent)
			if answer.StatusCode != step.status || answer.Header.Get("Retry-After") != step.after {
				t.Errorf("%.40q: %s, %v", step.sent, answer.Status, answer.Header)
			}
		}
		p.wantServed(1001)
		time.Sleep(200*time.Millisecond + 1) // 120 names are 1.2 s
		if answer := p.request(c, post("/v1/names?count=1000")); answer.StatusCode != 201 {
			t.Errorf("after a while: %s", answer.Status)
		}
		if answer := p.request(c, post("/v1/names")); answer.StatusCode != 429 || answer.Header.Get("Retry-After") != "10" {
			t.Errorf("after a thousand: %s, %v", answer.Status, answer.Header)
		}
		l, err := p.server.Minter.Lease(t.Context(), 1)
		if err != nil || l.Terms().First != 60+60+1+1000 {
			t.Errorf("%v, %v", l, err)
		}
	})
}

// TestBodiesInMemory: large bodies count while they are in memory.
func TestBodiesInMemory(t *testing.T) {
	inBubble(t, keygen.ClassH, func(*Server) {}, func(t *testing.T, p *pipes) {
		const half = "POST /v1/leases HTTP/1.1\r\nHost: o\r\nTransfer-Encoding: chunked\r\n\r\n5000\r\n"
		begin := func(c net.Conn) {
			if _, err := io.WriteString(c, half+strings.Repeat(" ", 0x5000)+"\r\n"); err != nil {
				t.Fatal(err)
			}
		}
		eight := p.dialMany(1000, bodiesOfOne/maxBody)
		for _, c := range eight {
			begin(c)
		}
		synctest.Wait()
		another := p.dial(1000)
		go func() { _, _ = io.WriteString(another, half+strings.Repeat(" ", 0x5000)+"\r\n") }()
		line := make([]byte, len("HTTP/1.1 429"))
		if _, err := io.ReadFull(another, line); err != nil || string(line) != "HTTP/1.1 429" {
			t.Errorf("a ninth: %q, %v", line, err)
		}
		p.wantServed(1000)
		stranger := p.dial(1001)
		begin(stranger)
		if answer := p.request(stranger, "d\r\n{\"count\":100}\r\n0\r\n\r\n"); answer.StatusCode != 201 {
			t.Errorf("another user: %s", answer.Status)
		}
		closeAll(append(eight, another, stranger))
	})
}
