package journal_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
)

// fakeTPM is a TPM's counter in memory. Its state is a value: to snapshot it is
// to copy it.
type fakeTPM struct {
	state
	fault func(*state) (uint64, error) // what the next claim does instead, once
	down  error                        // what all methods answer
	reads int
}

// state is what a rollback takes back.
type state struct {
	incarnation  [32]byte
	first, value uint64
}

func newTPM() *fakeTPM { return newTPMAt(1) }

// newTPMAt is a TPM with a counter that was just defined.
func newTPMAt(value uint64) *fakeTPM {
	return &fakeTPM{state: state{incarnation: unique(), first: value, value: value}}
}

func (f *fakeTPM) Incarnation(context.Context) ([32]byte, error) { return f.incarnation, f.down }

func (f *fakeTPM) Read(context.Context) (uint64, error) {
	f.reads++
	return f.value, f.down
}

func (f *fakeTPM) Next(context.Context) (uint64, error) {
	if f.down != nil {
		return 0, f.down
	}
	if fault := f.fault; fault != nil {
		f.fault = nil
		return fault(&f.state)
	}
	f.value++
	return f.value, nil
}

var errTPM = errors.New("no answer")

// loses is a claim that increments n times and has no answer.
func loses(n uint64) func(*state) (uint64, error) {
	return func(s *state) (uint64, error) {
		s.value += n
		return 0, errTPM
	}
}

var drawn atomic.Uint64

// unique returns what was never returned before.
func unique() [32]byte { return sha256.Sum256(fmt.Append(nil, drawn.Add(1))) }

func drawMinter() [16]byte {
	u := unique()
	return [16]byte(u[:])
}

var (
	testEK   = sha256.Sum256([]byte("an endorsement key"))
	testTime = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
)

func testClock() time.Time { return testTime }

// daemon is a start of opmintd, as far as epochs are concerned.
type daemon struct {
	journal  *journal.Journal
	standing *journal.Standing // nil in class j
	class    keygen.Class
	counter  *journal.Counter
}

// start does what opmintd does at its start.
func start(ctx context.Context, s store.Store, class keygen.Class, tpm journal.TPM) (*daemon, error) {
	return startAt(ctx, s, class, tpm, testClock)
}

func startAt(
	ctx context.Context, s store.Store, class keygen.Class, tpm journal.TPM, now func() time.Time,
) (*daemon, error) {
	j, err := journal.Open(ctx, s, now)
	if err != nil {
		return nil, err
	}
	d := &daemon{journal: j, class: class}
	minter := drawMinter()
	if class != keygen.ClassJ {
		first := uint64(0)
		if fake, ok := tpm.(*fakeTPM); ok {
			first = fake.first
		}
		if d.standing, err = j.Compare(ctx, tpm, testEK, first); err != nil {
			return nil, err
		}
		if d.standing.Demoted {
			d.class = keygen.ClassV
		}
		if d.class == keygen.ClassH && d.standing.Minter != [16]byte{} {
			minter = d.standing.Minter
		}
	}
	d.counter, err = j.Counter(journal.CounterConfig{
		Class: d.class, Standing: d.standing, Minter: minter, Reason: "start",
	})
	return d, err
}

func started(t *testing.T, s store.Store, class keygen.Class, tpm *fakeTPM) *daemon {
	t.Helper()
	d, err := start(t.Context(), s, class, tpm)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// claim claims an epoch that must be had.
func (d *daemon) claim(t *testing.T) uint64 {
	t.Helper()
	epoch, err := d.counter.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return epoch
}

// whats returns what was noticed to go back, in order.
func whats(t interface {
	Helper()
	Fatal(...any)
}, j *journal.Journal) []journal.What {
	t.Helper()
	rollbacks, err := j.Rollbacks(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var all []journal.What
	for _, r := range rollbacks {
		all = append(all, r.What)
	}
	return all
}

var classes = []keygen.Class{keygen.ClassH, keygen.ClassV, keygen.ClassJ}

// counting is a store that counts what is read from it.
type counting struct {
	*storetest.Memory
	records int
}

func (c *counting) Get(ctx context.Context, key []byte) ([]byte, error) {
	c.records++
	return c.Memory.Get(ctx, key)
}

func (c *counting) Scan(ctx context.Context, prefix, after []byte, limit int) ([]store.Record, error) {
	records, err := c.Memory.Scan(ctx, prefix, after, limit)
	c.records += len(records)
	return records, err
}
