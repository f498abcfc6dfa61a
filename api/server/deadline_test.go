package server

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opmint/opmint/keygen"
)

// newDirections returns both directions of one end of a pipe, and its other end;
// told counts the deadlines that the pipe was told of.
func newDirections(told *atomic.Int64) (reads, writes *direction, other net.Conn) {
	end, other := net.Pipe()
	count := func(set func(time.Time) error) func(time.Time) error {
		return func(t time.Time) error { told.Add(1); return set(t) }
	}
	return newDirection(end.Read, count(end.SetReadDeadline)), newDirection(end.Write, count(end.SetWriteDeadline)), other
}

// TestDeadlineThatMoves: what waits ends at the last deadline that was set, neither
// before nor after it.
func TestDeadlineThatMoves(t *testing.T) {
	const never = -1
	for what, steps := range map[string][]time.Duration{ // a deadline each second, ahead of then
		"one":             {10 * time.Second},
		"later":           {2 * time.Second, 10 * time.Second, 20 * time.Second},
		"sooner":          {20 * time.Second, 10 * time.Second, 5 * time.Second},
		"sooner, later":   {20 * time.Second, 2 * time.Second, 30 * time.Second},
		"none, then one":  {never, 10 * time.Second},
		"none for a time": {2 * time.Second, never, 10 * time.Second},
		"at once":         {10 * time.Second, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			var told atomic.Int64
			reads, writes, other := newDirections(&told)
			defer other.Close()
			set := func(ahead time.Duration) (last time.Time) {
				if ahead != never {
					last = time.Now().Add(ahead)
				}
				if err := errors.Join(reads.set(last), writes.set(last)); err != nil {
					t.Error(err)
				}
				return last
			}
			last := set(steps[0])
			ended := make(chan time.Time)
			for _, d := range []*direction{reads, writes} {
				go func() {
					if n, err := d.run(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Errorf("%s: %d, %v", what, n, err)
					}
					ended <- time.Now()
				}()
			}
			for _, step := range steps[1:] {
				time.Sleep(time.Second)
				synctest.Wait()
				last = set(step)
			}
			for range 2 {
				if at := <-ended; !at.Equal(last) {
					t.Errorf("%s: ended %v after the deadline", what, at.Sub(last))
				}
			}
		})
	}
}

// TestDeadlineBeforeTheConnection: such a deadline ends a read, under way or not,
// and is forgotten with the next one.
func TestDeadlineBeforeTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int64
		reads, _, other := newDirections(&told)
		defer other.Close()
		read := func() error { _, err := reads.run(make([]byte, 1)); return err }
		for _, underWay := range []bool{false, true} {
			ended := make(chan error)
			if underWay {
				go func() { ended <- read() }()
				synctest.Wait()
			}
			before := time.Now()
			if err := reads.set(time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
			if !underWay {
				go func() { ended <- read() }()
			}
			if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(before) != 0 {
				t.Errorf("under way %v: %v after %v", underWay, err, time.Since(before))
			}
			if told := told.Load() > 0; told != underWay {
				t.Errorf("under way %v: the socket was told: %v", underWay, told)
			}
			if err := reads.set(time.Now().Add(time.Second)); err != nil {
				t.Fatal(err)
			}
			if err := read(); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(before) != time.Second {
				t.Errorf("then: %v after %v", err, time.Since(before))
			}
			if err := reads.set(time.Time{}); err != nil {
				t.Fatal(err)
			}
			told.Store(0)
		}
	})
}

// TestWriteThatGoesOn: a write that the socket breaks off goes on where it was.
func TestWriteThatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int64
		_, writes, other := newDirections(&told)
		sent := []byte("all of this arrives, and in its order")
		written := make(chan error)
		go func() {
			n, err := writes.run(sent)
			if n != len(sent) {
				t.Errorf("%d bytes", n)
			}
			written <- err
		}()
		var got []byte
		for range sent {
			if err := writes.set(time.Now().Add(2 * time.Second)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			var b [1]byte
			if _, err := other.Read(b[:]); err != nil {
				t.Fatal(err)
			}
			got = append(got, b[0])
		}
		if err := <-written; err != nil || !slices.Equal(got, sent) {
			t.Errorf("%q, %v", got, err)
		}
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		if n, err := writes.run(sent); n != 0 || !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("afterwards: %d, %v", n, err)
		}
	})
}

// TestDeadlinesThatNobodyWaitsFor: the socket learns of next to none of them.
func TestDeadlinesThatNobodyWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int64
		reads, _, other := newDirections(&told)
		defer other.Close()
		go func() {
			for range 1000 {
				time.Sleep(time.Second)
				if _, err := other.Write([]byte("x")); err != nil {
					t.Error(err)
				}
			}
		}()
		for range 1000 {
			for _, ahead := range []time.Duration{idleTime, headerTime, requestTime, idleTime} {
				if err := reads.set(time.Now().Add(ahead)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := reads.run(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		if most := int64(1000*time.Second/idleTime) + 1; told.Load() > most {
			t.Errorf("the socket was told of %d deadlines, want %d", told.Load(), most)
		}
	})
}

// TestClientsLeave: whoever waits for something in the middle of a request learns
// that its client has gone, on a new connection and on a kept one.
func TestClientsLeave(t *testing.T) {
	var noticed chan error
	wait := func(s *Server) {
		noticed = make(chan error)
		s.routes = append(s.routes, route{method: "GET", segments: []string{"wait"}, handle: func(r *request) (action, error) {
			return func(*answer) error {
				<-r.Context().Done()
				noticed <- r.Context().Err()
				return r.Context().Err()
			}, nil
		}})
	}
	for _, kept := range []int{0, 1, 10} {
		inBubble(t, keygen.ClassH, wait, func(t *testing.T, p *pipes) {
			c := p.dial(1000)
			for range kept {
				if answer := p.request(c, post("/v1/names")); answer.StatusCode != 201 {
					t.Fatal(answer.Status)
				}
				time.Sleep(time.Second)
			}
			if _, err := io.WriteString(c, get("/wait")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour) // it is patient
			before := time.Now()
			c.Close()
			if err := <-noticed; err == nil || time.Since(before) != 0 {
				t.Errorf("kept %d: %v after %v", kept, err, time.Since(before))
			}
		})
	}
}

// TestKeptConnectionsAreCutOff: the times of a connection begin anew with each of
// its requests.
func TestKeptConnectionsAreCutOff(t *testing.T) {
	for _, s := range stalls {
		inBubble(t, keygen.ClassH, func(*Server) {}, func(t *testing.T, p *pipes) {
			c := p.dial(1000)
			for range 5 {
				if answer := p.request(c, post("/v1/names")); answer.StatusCode != 201 {
					t.Fatal(answer.Status)
				}
				time.Sleep(idleTime - time.Second)
			}
			want := s.after
			if s.sent == "" {
				want = time.Second // of the time between requests
			}
			before := time.Now()
			if _, err := io.WriteString(c, s.sent); err != nil {
				t.Fatal(err)
			}
			wait(c, s.writes)
			if at := time.Since(before); at < want || at > want+lingerTime {
				t.Errorf("%s: cut off after %v, want %v", s.name, at, want)
			}
			c.Close()
		})
	}
}
