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

// TestReadAfterOneThatWasEnded: it is begun once, under its own deadline, and not
// under the one that ended the read before.
func TestReadAfterOneThatWasEnded(t *testing.T) {
	var known time.Time
	next, reads := time.Now().Add(time.Hour), 0
	var d *direction
	d = newDirection(func(b []byte) (int, error) {
		if reads++; reads == 2 {
			if !known.Equal(next) {
				t.Errorf("begun under the deadline %v", known)
			}
			return len(b), nil
		}
		if err := d.set(time.Unix(1, 0)); err != nil {
			t.Error(err)
		}
		return 0, os.ErrDeadlineExceeded
	}, func(deadline time.Time) error {
		known = deadline
		return nil
	})
	if n, err := d.run(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("ended: %d, %v", n, err)
	}
	if err := d.set(next); err != nil {
		t.Fatal(err)
	}
	if n, err := d.run(make([]byte, 1)); n != 1 || err != nil || reads != 2 {
		t.Errorf("next: %d, %v, %d reads", n, err, reads)
	}
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
