package ledger_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/ledger"
	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
)

// clock is a clock that tests set.
type clock struct {
	mu   sync.Mutex
	boot time.Duration
	wall time.Time
}

func newClock() *clock { return &clock{wall: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)} }

func (c *clock) Boot() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.boot
}

func (c *clock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall
}

// pass lets time pass.
func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.boot, c.wall = c.boot+d, c.wall.Add(d)
}

// set sets the wall clock, which may be wrong.
func (c *clock) set(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(by)
}

// reporter is what *testing.T and *rapid.T have in common.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
}

// rig is a ledger on a store in memory, which can be restarted.
type rig struct {
	t      reporter
	clock  *clock
	config ledger.Config
	store  *storetest.Memory
	*ledger.Keeper
}

func newRig(t reporter) *rig {
	r := &rig{t: t, clock: newClock(), store: storetest.NewMemory()}
	r.config.Clock = r.clock
	r.open()
	return r
}

func (r *rig) open() {
	r.t.Helper()
	k, err := ledger.Open(r.t.Context(), r.store, r.config)
	if err != nil {
		r.t.Fatalf("Open: %v", err)
	}
	r.Keeper = k
	k.SetMinLog(2000)
}

// restart kills the process and starts it again.
func (r *rig) restart() {
	r.t.Helper()
	r.store = r.store.Restart()
	r.open()
}

// work does all the work of Run there is.
func (r *rig) work() {
	r.t.Helper()
	for more := true; more; {
		var err error
		if more, err = r.Step(r.t.Context()); err != nil {
			r.t.Fatalf("Step: %v", err)
		}
	}
}

// pass lets time pass, and does the work that this brings.
func (r *rig) pass(d time.Duration) {
	r.t.Helper()
	r.clock.pass(d)
	r.work()
}

// rebuilt checks that the log rebuilds the ledger.
func rebuilt(t reporter, s store.Store) {
	t.Helper()
	again := storetest.NewMemory()
	if err := ledger.Rebuild(t.Context(), s, again); err != nil {
		t.Fatalf("Rebuild: %v", err)
	}
	if err := ledger.Compare(t.Context(), s, again); err != nil {
		t.Fatalf("Compare: %v", err)
	}
}

// mint returns a name.
func mint(identity string, epoch, seq uint64, tags ...string) string {
	id := keygen.NewIdentity(sha256.Sum256([]byte(identity)), [32]byte{}, [16]byte{})
	var key keygen.Key
	copy(key[:], fmt.Sprint(identity, tags))
	lease, err := keygen.NewLease(keygen.Terms{Class: keygen.ClassV, Identity: id, Epoch: epoch, First: seq, Count: 1, Key: key})
	if err != nil {
		panic(err)
	}
	name, err := lease.Name(0)
	if err != nil {
		panic(err)
	}
	return name.String()
}

func print(text string) ledger.Fingerprint { return sha256.Sum256([]byte(text)) }

func ref(name string) ledger.Ref { return ledger.Ref{Scope: "s", Name: name} }

func attempt(holder string) ledger.Attempt {
	return ledger.Attempt{Holder: holder, Fingerprint: print("payload"), Lease: 30 * time.Second}
}

// begin begins an operation that must run.
func begin(t reporter, l ledger.Ledger, name, holder string) ledger.Operation {
	t.Helper()
	op, err := l.Begin(t.Context(), ref(name), attempt(holder))
	if err != nil || op.State != ledger.Running {
		t.Fatalf("Begin(%s) = %+v, %v, want running", name, op, err)
	}
	return op
}

// finish finishes it.
func finish(t reporter, l ledger.Ledger, op ledger.Operation, outcome ledger.State) {
	t.Helper()
	got, err := l.Finish(t.Context(), op.Ref, op.Hold(), outcome, nil)
	if err != nil || got.State != outcome {
		t.Fatalf("Finish(%s) = %+v, %v", op.Ref.Name, got, err)
	}
}

// run runs an operation from begin to end.
func run(t reporter, l ledger.Ledger, name string) {
	t.Helper()
	finish(t, l, begin(t, l, name, "h"), ledger.Applied)
}

// want checks an error, and that it is no other refusal as well.
func want(t reporter, what string, err, wanted error) {
	t.Helper()
	if !errors.Is(err, wanted) {
		t.Errorf("%s: %v, want %v", what, err, wanted)
	}
}
