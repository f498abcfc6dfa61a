package server

import (
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opmint/opmint/keygen"
)

// stalls are clients that keep the daemon waiting, how many of them there are, and
// when they are cut off.
var stalls = []struct {
	name   string
	count  int
	sent   string // the client goes on to read, or to write after a whole request
	writes bool
	after  time.Duration
}{
	{"silent", 200, "", false, headerTime},
	{"half a header", 25, "POST /v1/names HTTP/1.1\r\nHost: opm", false, headerTime},
	{"half a body", 25, "POST /v1/leases HTTP/1.1\r\nHost: o\r\nContent-Length: 11\r\n\r\n{", false, requestTime},
	{"never reads", 50, million, true, writeTime},
	{"idle", 10, "GET /v1/healthz HTTP/1.1\r\nHost: o\r\n\r\n", false, idleTime},
}

// ends tells when clients were cut off, by the name of their kind.
type ends struct {
	mu    sync.Mutex
	start time.Time
	at    map[string][]time.Duration
}

// stall connects all clients that keep the daemon waiting, as a user.
func (e *ends) stall(p *pipes, uid uint32) {
	p.t.Helper()
	for _, s := range stalls {
		for range s.count {
			c := p.dial(uid)
			if _, err := io.WriteString(c, s.sent); err != nil {
				p.t.Fatal(err)
			}
			go func() {
				wait(c, s.writes)
				c.Close()
				e.mu.Lock()
				defer e.mu.Unlock()
				e.at[s.name] = append(e.at[s.name], time.Since(e.start))
			}()
		}
	}
}

// wait reads, or writes, until the other end is closed.
func wait(c net.Conn, writes bool) {
	for err := error(nil); err == nil; {
		if writes {
			_, err = c.Write([]byte("x"))
		} else {
			_, err = c.Read(make([]byte, 4096))
		}
	}
}

// mintWithoutWaiting mints names, one by one, while the bubble's time stands still.
func (p *pipes) mintWithoutWaiting(c net.Conn, count int) {
	p.t.Helper()
	before := time.Now()
	for range count {
		if answer := p.request(c, post("/v1/names")); answer.StatusCode != 201 {
			p.t.Fatal(answer.Status)
		}
	}
	if waited := time.Since(before); waited > 0 {
		p.t.Errorf("%d names took %v", count, waited)
	}
}

// TestCrowd: clients that keep the daemon waiting, of the honest client's own user
// and of another, do not make the honest one wait, and each is cut off by deadline.
func TestCrowd(t *testing.T) {
	inBubble(t, keygen.ClassH, func(*Server) {}, func(t *testing.T, p *pipes) {
		e := ends{start: time.Now(), at: map[string][]time.Duration{}}
		e.stall(p, 1000)
		e.stall(p, 1001)
		honest := p.dial(1000)
		defer honest.Close()
		p.mintWithoutWaiting(honest, 1000)
		for range 13 {
			time.Sleep(10 * time.Second)
			p.mintWithoutWaiting(honest, 10)
		}
		synctest.Wait()
		for _, s := range stalls {
			if got := len(e.at[s.name]); got != 2*s.count {
				t.Errorf("%s: %d of %d were cut off", s.name, got, 2*s.count)
			}
			for _, at := range e.at[s.name] {
				if at < s.after || at > s.after+lingerTime {
					t.Errorf("%s: cut off after %v, want %v", s.name, at, s.after)
				}
			}
		}
	})
}

// TestStalledBodyIsAnswered: who waits long enough is told what was wrong.
func TestStalledBodyIsAnswered(t *testing.T) {
	inBubble(t, keygen.ClassH, func(*Server) {}, func(t *testing.T, p *pipes) {
		c := p.dial(1000)
		defer closeAll([]net.Conn{c})
		answer := p.request(c, "POST /v1/leases HTTP/1.1\r\nHost: o\r\nContent-Length: 11\r\n\r\n{")
		if answer.StatusCode != 400 || answer.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s, %v", answer.Status, answer.Header)
		}
	})
}
