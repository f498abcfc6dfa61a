package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/tpm"
)

// TestClaimsRemembered has more claims than are remembered.
func TestClaimsRemembered(t *testing.T) {
	first, second := origin{minter: minter{1}}, origin{minter: minter{2}}
	c := newClaims(nil, first, slog.New(slog.DiscardHandler), nil)
	const last = maxClaims + 10
	for epoch := uint64(1); epoch <= last; epoch++ {
		ctx := t.Context()
		if epoch == last {
			ctx = context.WithValue(ctx, originKey{}, second)
		}
		c.note(ctx, epoch)
	}
	if len(c.list) != maxClaims || c.current() != second {
		t.Errorf("%d claims, the last for %x", len(c.list), c.current())
	}
	for _, q := range []struct {
		origin origin
		epoch  uint64
		known  bool
	}{
		{first, 10, false}, {first, 11, true}, {first, last - 1, true}, {first, last, false},
		{second, last, true}, {second, last - 1, false}, {second, last + 1, false},
	} {
		made, known := c.find(q.origin.identity(), q.epoch)
		if known != q.known || known && (made.origin != q.origin || time.Since(made.at) > time.Hour) {
			t.Errorf("epoch %d of %x: %+v, %v, want %v", q.epoch, q.origin.minter, made, known, q.known)
		}
	}
}

// TestClaimsNotBegun has a client that has gone before its claim begins.
func TestClaimsNotBegun(t *testing.T) {
	c := newClaims(nil, origin{}, slog.New(slog.DiscardHandler), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestJudge says which errors end the daemon, and which pass.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		err   error
		fatal bool
		wait  time.Duration
		code  int // as the end of a start
	}{
		{tpm.ErrOutcomeUnknown, true, 0, exitError},
		{&tpm.WentBackError{Before: 2, Seen: 1}, true, 0, exitError},
		{tpm.ErrRedefined, true, 0, exitError},
		{tpm.ErrBusy, false, busyTime, exitTryAgain},
		{tpm.ErrStranger, false, 0, exitRefused},
		{tpm.ErrAuthLost, false, 0, exitRefused},
		{tpm.ErrOwnerAuth, false, 0, exitRefused},
		{tpm.ErrEndorsementAuth, false, 0, exitRefused},
		{tpm.ErrNotDefined, false, 0, exitError},
		{errors.New("other"), false, 0, exitError},
	} {
		var failed error
		judged := (&claims{fail: func(err error) { failed = err }}).judge(c.err)
		if (failed != nil) != c.fatal || !errors.Is(judged, c.err) {
			t.Errorf("%v became %v, and ended the daemon with %v", c.err, judged, failed)
		}
		if wait := api.NewProblem(judged).RetryAfter; wait != c.wait {
			t.Errorf("%v: to be tried again after %v, want %v", c.err, wait, c.wait)
		}
		if code := exitCode(judged); code != c.code {
			t.Errorf("%v: exit %d, want %d", c.err, code, c.code)
		}
	}
}
