package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/tpm"
)

// fake is a counter that counts, unless it fails.
type fake struct {
	value uint64
	err   error
}

func (f *fake) Next(context.Context) (uint64, error) {
	if f.err != nil {
		return 0, f.err
	}
	f.value++
	return f.value, nil
}

// slow is a TPM that takes a minute for a claim.
type slow struct{ fake }

func (s *slow) Next(ctx context.Context) (uint64, error) {
	select {
	case <-time.After(time.Minute):
		return s.fake.Next(ctx)
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func newTestEpochs(t *testing.T, s *slow) *epochs {
	return &epochs{mint: &mint{claiming: t.Context(), meter: newMeter()}, counter: s, log: slog.New(slog.DiscardHandler)}
}

// TestClaimGoesOn has clients that wait for a claim for a shorter time than it
// takes: none of them gets the number, and it is not lost.
func TestClaimGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		c := newTestEpochs(t, s)
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			if epoch, err := c.Next(ctx); !errors.Is(err, tpm.ErrBusy) || !errors.Is(err, api.ErrUnavailable) {
				t.Errorf("epoch %d, %v", epoch, err)
			}
			cancel()
		}
		for _, want := range []struct {
			epoch uint64
			after time.Duration
		}{{1, 30 * time.Second}, {2, time.Minute}} {
			begin := time.Now()
			if epoch, err := c.Next(t.Context()); epoch != want.epoch || err != nil || time.Since(begin) != want.after {
				t.Errorf("epoch %d, %v after %v, want %+v", epoch, err, time.Since(begin), want)
			}
		}
	})
}

// TestClaimFailedUnseen has a claim that fails when nobody waits for it any more:
// the next one is made all the same.
func TestClaimFailedUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{fake{err: errors.New("no power")}}
		c := newTestEpochs(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Next(ctx); !errors.Is(err, tpm.ErrBusy) {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		s.err = nil
		if epoch, err := c.Next(t.Context()); epoch != 1 || err != nil {
			t.Errorf("epoch %d, %v", epoch, err)
		}
		s.err = errors.New("no power")
		if _, err := c.Next(t.Context()); !errors.Is(err, s.err) {
			t.Error(err)
		}
	})
}

// TestClaimNotBegun has a client that has gone before its claim begins.
func TestClaimNotBegun(t *testing.T) {
	s := &slow{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newTestEpochs(t, s).Next(ctx); !errors.Is(err, context.Canceled) || s.value != 0 {
		t.Errorf("%v, and %d claims", err, s.value)
	}
}

// TestJudgeError says which errors end the daemon, and which pass.
func TestJudgeError(t *testing.T) {
	for _, c := range []struct {
		err   error
		fatal bool
		wait  time.Duration
		code  int // as the end of a start
	}{
		{tpm.ErrOutcomeUnknown, true, 0, exitError},
		{tpm.ErrRedefined, true, 0, exitError},
		{keygen.ErrWentBack, true, 0, exitError},
		{store.ErrOutcomeUnknown, true, 0, exitError},
		{store.ErrStopped, true, 0, exitError},
		{fmt.Errorf("%w; record it: %w", journal.ErrRolledBack, store.ErrOutcomeUnknown), true, 0, exitError},
		{fmt.Errorf("%w: %w", journal.ErrRolledBack, tpm.ErrWentBack), false, 0, exitError},
		{tpm.ErrBusy, false, busyTime, exitTryAgain},
		{tpm.ErrStranger, false, 0, exitRefused},
		{tpm.ErrAuthLost, false, 0, exitRefused},
		{tpm.ErrOwnerAuth, false, 0, exitRefused},
		{tpm.ErrEndorsementAuth, false, 0, exitRefused},
		{tpm.ErrNotDefined, false, 0, exitError},
		{store.ErrInUse, false, 0, exitTryAgain},
		{store.ErrLost, false, 0, exitRefused},
		{store.ErrDamaged, false, 0, exitRefused},
		{store.ErrForeign, false, 0, exitRefused},
		{store.ErrNewer, false, 0, exitRefused},
		{errors.New("other"), false, 0, exitError},
	} {
		var failed error
		judged := (&mint{fail: func(err error) { failed = err }}).judgeError(c.err)
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

// TestNoClaimAfterUnreliable has a claim of which nobody knows what it did: no other
// is made, and all who want one are told why.
func TestNoClaimAfterUnreliable(t *testing.T) {
	claiming, end := context.WithCancelCause(t.Context())
	s := &fake{err: tpm.ErrOutcomeUnknown}
	e := &epochs{
		mint:    &mint{claiming: claiming, meter: newMeter(), fail: end},
		counter: s, log: slog.New(slog.DiscardHandler),
	}
	for range 3 {
		if _, err := e.Next(t.Context()); !errors.Is(err, tpm.ErrOutcomeUnknown) {
			t.Error(err)
		}
		s.err = nil
	}
	if s.value != 0 {
		t.Errorf("%d claims after it", s.value)
	}
}
