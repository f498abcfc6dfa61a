package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/tpm"
)

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

func newTestClaimer(t *testing.T, s *slow) *claimer {
	return &claimer{ctx: t.Context(), tpm: s, claims: &claims{}, log: slog.New(slog.DiscardHandler)}
}

// TestClaimGoesOn has clients that wait for a claim for a shorter time than it
// takes: none of them gets the number, and it is not lost.
func TestClaimGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		c := newTestClaimer(t, s)
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
		c := newTestClaimer(t, s)
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
	if _, err := newTestClaimer(t, s).Next(ctx); !errors.Is(err, context.Canceled) || s.value != 0 {
		t.Errorf("%v, and %d claims", err, s.value)
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
		judged := (&claimer{fail: func(err error) { failed = err }}).judge(c.err)
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
