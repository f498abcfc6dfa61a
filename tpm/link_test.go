package tpm

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-tpm/tpm2"
)

// scripted is a wire that answers from a list, and then not at all until it is
// closed.
type scripted struct {
	answers [][]byte
	sent    [][]byte
	closed  chan struct{}
}

func script(answers ...[]byte) *scripted {
	return &scripted{answers: answers, closed: make(chan struct{})}
}

func (s *scripted) exchange(cmd []byte, _ time.Time) ([]byte, bool, error) {
	s.sent = append(s.sent, slices.Clone(cmd))
	if len(s.answers) == 0 {
		<-s.closed
		return nil, true, net.ErrClosed
	}
	rsp := s.answers[0]
	s.answers = s.answers[1:]
	return rsp, true, nil
}

func (s *scripted) close() { close(s.closed) }

// on returns a Device whose connections are the given wires, one after another.
func on(wires ...*scripted) *Device {
	d := &Device{addr: "scripted", managed: true, turn: make(chan struct{}, 1), closed: make(chan struct{})}
	d.connect = func(context.Context) (wire, error) {
		if len(wires) == 0 {
			return nil, net.ErrClosed
		}
		w := wires[0]
		wires = wires[1:]
		return w, nil
	}
	return d
}

// clock is an answer to TPM2_ReadClock.
var clock = resized(append(answer(tpm2.TPMRCSuccess), make([]byte, 8+8+4+4+1)...))

// readOne is an operation of one command, which changes nothing.
func readOne(l *link) error {
	_, err := run(l, tpm2.ReadClock{})
	return err
}

// clearOne is an operation of one command that changes the TPM.
func clearOne(l *link) error {
	idx := index{handle: DefaultIndex, name: tpm2.TPM2BName{Buffer: []byte{0}}}
	_, err := run(l, tpm2.NVIncrement{AuthHandle: idx.authorize(tpm2.PasswordAuth(nil)), NVIndex: idx.authorize(nil)})
	return err
}

func TestBusyTPM(t *testing.T) {
	for _, rc := range []tpm2.TPMRC{tpm2.TPMRCRetry, tpm2.TPMRCNVRate, tpm2.TPMRCYielded, tpm2.TPMRCTesting} {
		synctest.Test(t, func(t *testing.T) {
			w := script(answer(rc), answer(rc), answer(rc), clock)
			if err := on(w).operate(t.Context(), shortLimit, readOne); err != nil {
				t.Errorf("busy three times (%v): %v", rc, err)
			}
			if len(w.sent) != 4 || slices.ContainsFunc(w.sent, func(cmd []byte) bool { return !slices.Equal(cmd, w.sent[0]) }) {
				t.Errorf("sent %x, want the same four times", w.sent)
			}
			// Longer than go-tpm alone would wait, and not for ever.
			endless := slices.Repeat([][]byte{answer(rc)}, 10_000)
			began := time.Now()
			err := on(script(endless...)).operate(t.Context(), shortLimit, readOne)
			if !errors.Is(err, ErrBusy) || !errors.Is(err, rc) || errors.Is(err, ErrOutcomeUnknown) {
				t.Errorf("busy without end: %v", err)
			}
			if took := time.Since(began); took > busyLimit || took < busyLimit-longPause {
				t.Errorf("gave up after %v, want %v", took, busyLimit)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err = on(script(endless...)).operate(ctx, shortLimit, readOne)
			if !errors.Is(err, ErrBusy) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("busy for longer than the caller waits: %v", err)
			}
		})
	}
}

// TestWatchdog has a TPM that never answers, as a stuck device.
func TestWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := on(script(), script()).operate(t.Context(), shortLimit, readOne)
		var failed *CommandError
		if !errors.As(err, &failed) || !failed.Sent || failed.Command != "TPM2_ReadClock" {
			t.Errorf("silence: %v", err)
		}
		if errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("silence: %v", err)
		}
		if took := time.Since(began); took != 2*answerLimit {
			t.Errorf("gave up after %v, want twice %v", took, answerLimit)
		}
		if err := on(script(), script()).operate(t.Context(), shortLimit, clearOne); !errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("silence after a change: %v, want ErrOutcomeUnknown", err)
		}
	})
}

// TestNothingAfterGarbage leaves a connection alone on which an answer was
// wrong: the next one could be the answer to the same command.
func TestNothingAfterGarbage(t *testing.T) {
	first, second := script([]byte("garbage"), clock, clock), script(clock, clock)
	err := on(first, second).operate(t.Context(), shortLimit, func(l *link) error {
		return errors.Join(readOne(l), readOne(l))
	})
	if err != nil || len(first.sent) != 1 || len(second.sent) != 2 {
		t.Errorf("sent %x, then %x: %v", first.sent, second.sent, err)
	}
}

// stuck is a wire that close cannot interrupt, as a read from a device file.
type stuck struct{ freed chan struct{} }

func (s stuck) exchange([]byte, time.Time) ([]byte, bool, error) { <-s.freed; return nil, true, io.EOF }
func (s stuck) close()                                           { <-s.freed }

func TestStuckDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		freed := make(chan struct{})
		wires := []wire{stuck{freed}, script(clock)}
		d := &Device{addr: "stuck", managed: true, turn: make(chan struct{}, 1), closed: make(chan struct{})}
		d.connect = func(context.Context) (wire, error) {
			w := wires[0]
			wires = wires[1:]
			return w, nil
		}
		for range 3 {
			began := time.Now()
			err := d.operate(t.Context(), shortLimit, readOne)
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != shortLimit {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
		}
		if len(wires) != 1 {
			t.Error("it was opened again while a call hung in it")
		}
		close(freed)
		if err := d.operate(t.Context(), shortLimit, readOne); err != nil {
			t.Errorf("once it works again: %v", err)
		}
	})
}

// TestCancel ends the caller's context while a command is under way.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		err := on(script(), script()).operate(ctx, shortLimit, readOne)
		if !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Errorf("cancelled after 1 s: %v after %v", err, time.Since(began))
		}
		// Nobody would know what the command did, so its answer is waited for.
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began = time.Now()
		err = on(script(), script()).operate(ctx, shortLimit, clearOne)
		if !errors.Is(err, ErrOutcomeUnknown) || time.Since(began) != answerLimit {
			t.Errorf("cancelled after a change was sent: %v after %v", err, time.Since(began))
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		w := script(clock)
		if err := on(w).operate(cancelled, shortLimit, clearOne); !errors.Is(err, context.Canceled) || len(w.sent) > 0 {
			t.Errorf("cancelled before: %v, sent %x", err, w.sent)
		}
	})
}

// TestOwnDeadline does not try again once the caller does not wait any more.
func TestOwnDeadline(t *testing.T) {
	for range 20 { // a select that has two ways to go takes either
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			second := script(clock)
			err := on(script(), second).operate(ctx, shortLimit, readOne)
			if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrBusy) || len(second.sent) > 0 ||
				strings.Contains(err.Error(), "opened again") {
				t.Errorf("the caller's deadline: %v, sent %x", err, second.sent)
			}
			began := time.Now()
			err = on(script(clock)).operate(ctx, shortLimit, readOne)
			if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrBusy) || time.Since(began) > 0 {
				t.Errorf("after the caller's deadline: %v", err)
			}
		})
	}
}

// TestCancelledCertificate cancels while the certificate is being read, so that
// no answer comes: that there is none must not be the result.
func TestCancelledCertificate(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(t.Context())
		r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
			if cc == tpm2.TPMCCNVReadPublic {
				cancel()
				return nil, true, context.Canceled
			}
			return next(cmd)
		})
		if ek, err := r.dev.EndorsementKey(ctx, EKOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled reading of the certificate: %+v, %v", ek, err)
		}
	})
}

// TestCancelledClaim ends the context as the increment is sent: no value is
// owned, and the next claim is right.
func TestCancelledClaim(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		c, _ := r.counter()
		all := ledger{t: t}
		all.add(r.next(c))
		ctx, cancel := context.WithCancel(t.Context())
		r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
			if cc == tpm2.TPMCCNVIncrement {
				cancel()
			}
			return next(cmd)
		})
		if v, err := c.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("claimed %d, %v", v, err)
		}
		r.meddle(nil)
		all.add(r.next(c))
	})
}
