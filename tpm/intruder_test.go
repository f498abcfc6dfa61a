package tpm

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-tpm/tpm2"
)

// otherHand increments the counter and reads it, on the connection of somebody
// else, as naive software does. It returns what it takes for its own value.
func otherHand(t testing.TB, dir string, pass exchange) uint64 {
	t.Helper()
	l := &link{ctx: context.Background(), wire: borrowed(pass)}
	var value uint64
	for _, use := range []func(*index, *session) error{
		func(idx *index, s *session) error { return idx.increment(l, s) },
		func(idx *index, s *session) (err error) { value, err = idx.read(l, s); return err },
	} {
		auth, err1 := readAuth(dir)
		idx, err2 := findIndex(l, DefaultIndex)
		s, err3 := startSession(l, auth, nil)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Error(err) // not Fatal: this runs in the goroutine of a link
			return 0
		}
		s.endsWithNext()
		if err := use(idx, s); err != nil {
			t.Error(err)
		}
	}
	return value
}

// borrowed is a wire that is somebody else's connection.
type borrowed exchange

func (b borrowed) exchange(cmd []byte, _ time.Time) ([]byte, bool, error) { return b(cmd) }
func (b borrowed) close()                                                 {}

// worstMoment lets another hand increment right after each of the first n
// increments, between them and the read.
func worstMoment(t testing.TB, dir string, n int, owned func(uint64)) hook {
	return func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
		rsp, sent, err := next(cmd)
		if cc == tpm2.TPMCCNVIncrement && n > 0 {
			n--
			owned(otherHand(t, dir, next))
		}
		return rsp, sent, err
	}
}

// TestNaiveClaimFails shows what this package is for: software that increments
// and then reads owns what somebody else owns.
func TestNaiveClaimFails(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		_, dir := r.counter()
		var theirs uint64
		meddled := worstMoment(t, dir, 1, func(v uint64) { theirs = v })
		var ours uint64
		r.raw(func(l *link) {
			ours = otherHand(t, dir, func(cmd []byte) ([]byte, bool, error) {
				return meddled(code(cmd), cmd, func(cmd []byte) ([]byte, bool, error) {
					return l.wire.exchange(cmd, time.Now().Add(answerLimit))
				})
			})
		})
		if ours != theirs {
			t.Errorf("increment and read gave %d and %d: this test shows nothing", ours, theirs)
		}
	})
}

func TestIntruder(t *testing.T) {
	for _, n := range []int{1, maxTries - 1} {
		eachTPM(t, func(t *testing.T, r *rig) {
			c, dir := r.counter()
			all := ledger{t: t}
			r.meddle(worstMoment(t, dir, n, all.add))
			all.add(r.next(c))
			r.meddle(nil)
			all.add(r.next(c))
		})
	}
}

// TestIntruderEachTime gives up after 8 increments, also when a connection is
// lost on the way.
func TestIntruderEachTime(t *testing.T) {
	for _, lose := range []bool{false, true} {
		eachTPM(t, func(t *testing.T, r *rig) {
			c, dir := r.counter()
			all := ledger{t: t}
			increments := 0
			meddled := worstMoment(t, dir, 1000, all.add)
			r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
				if cc != tpm2.TPMCCNVIncrement {
					return next(cmd)
				}
				increments++
				if lose && increments == maxTries/2 {
					return nil, true, errDropped
				}
				return meddled(cc, cmd, next)
			})
			if _, err := c.Next(t.Context()); !errors.Is(err, ErrBusy) || errors.Is(err, ErrOutcomeUnknown) {
				t.Errorf("an intruder each time: %v, want ErrBusy", err)
			}
			if increments != maxTries {
				t.Errorf("%d increments, want %d", increments, maxTries)
			}
			r.meddle(nil)
			all.add(r.next(c))
		})
	}
}
