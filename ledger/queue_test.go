package ledger_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/opmint/opmint/ledger"
	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
)

// slowStore is a store whose commits wait until they are let go.
type slowStore struct {
	store.Store
	commits chan struct{}
}

func (s *slowStore) Commit(ctx context.Context, checks []store.Check, writes []store.Write) error {
	<-s.commits
	return s.Store.Commit(ctx, checks, writes)
}

// TestWaitingIsBounded: who waits to be written is bounded for each, and for all
// together, and waits no longer than its context says.
func TestWaitingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		slow := &slowStore{Store: r.store, commits: make(chan struct{})}
		r.config.Limits = ledger.Limits{Waiting: 3, WaitingBytes: 20_000}
		k, err := ledger.Open(t.Context(), slow, r.config)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 100)
		start := func(ctx context.Context, uid uint32, name string) {
			go func() {
				_, err := k.As(uid).Begin(ctx, ref(name), attempt("h"))
				done <- err
			}()
			synctest.Wait()
		}
		start(t.Context(), 1, "0") // being written, and waits no longer
		short, cancel := context.WithCancel(t.Context())
		start(short, 1, "1")
		start(t.Context(), 1, "2")
		start(t.Context(), 1, "3")
		_, err = k.As(1).Begin(t.Context(), ref("4"), attempt("h"))
		overloaded(t, "a fourth that waits", err)
		cancel()
		synctest.Wait()
		want(t, "who gave up", <-done, context.Canceled)
		_, err = k.As(2).Finish(t.Context(), ref("x"), ledger.Hold{}, ledger.Applied, &ledger.Result{Body: make([]byte, 20_000)})
		refusal, ok := errors.AsType[*ledger.Refusal](err)
		if !ok || refusal.Reason != ledger.ErrOverloaded || refusal.Own || refusal.RetryAfter <= 0 {
			t.Errorf("too many bytes wait: %v", err)
		}
		if stats, err := k.Stats(t.Context()); err != nil || stats.Waiting != 2 {
			t.Errorf("%+v, %v", stats, err)
		}
		close(slow.commits)
		for range 3 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		_, err = k.As(1).Lookup(t.Context(), ref("1"))
		want(t, "what was given up", err, ledger.ErrNotFound)
	})
}

// TestRefusedForWhatHasNotHappened: who was refused for a change that was then lost is
// told of the loss, and not of what never happened.
func TestRefusedForWhatHasNotHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		slow := &slowStore{Store: r.store, commits: make(chan struct{})}
		k, err := ledger.Open(t.Context(), slow, r.config)
		if err != nil {
			t.Fatal(err)
		}
		var errs [3]error
		for i, call := range []struct{ name, holder string }{{"first", "a"}, {"second", "a"}, {"second", "b"}} {
			go func() { _, errs[i] = k.As(1).Begin(t.Context(), ref(call.name), attempt(call.holder)) }()
			synctest.Wait()
		}
		r.store.Fail(2, storetest.Refuse)
		close(slow.commits)
		synctest.Wait()
		for i, wanted := range []error{nil, ledger.ErrUnavailable, ledger.ErrUnavailable} {
			if !errors.Is(errs[i], wanted) {
				t.Errorf("call %d: %v, want %v", i, errs[i], wanted)
			}
		}
		begin(t, k.As(1), "second", "b")
	})
}
