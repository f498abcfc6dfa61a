package journal_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
)

const horizon = 192 * time.Hour

// memory is a start of opmintd, as far as intents are concerned, with clocks that
// the test sets.
type memory struct {
	*journal.Intents
	*daemon
	minter *countingMinter
	clocks *clocks
}

// clocks are a machine's.
type clocks struct {
	boot atomic.Int64 // in ns
	wall atomic.Int64 // in ms since 1970
}

func newClocks() *clocks {
	c := new(clocks)
	c.wall.Store(testTime.UnixMilli())
	return c
}

func (c *clocks) now() time.Time { return time.UnixMilli(c.wall.Load()) }

// pass lets time pass, by both clocks.
func (c *clocks) pass(d time.Duration) {
	c.boot.Add(int64(d))
	c.wall.Add(d.Milliseconds())
}

// countingMinter counts what it mints.
type countingMinter struct {
	*keygen.Minter
	leases atomic.Int64
	fail   error // instead of a lease
}

func (m *countingMinter) Lease(ctx context.Context, count uint64) (*keygen.Lease, error) {
	if m.fail != nil {
		return nil, m.fail
	}
	m.leases.Add(1)
	return m.Minter.Lease(ctx, count)
}

// remember starts in a class.
func remember(ctx context.Context, s store.Store, class keygen.Class, tpm journal.TPM, c *clocks) (*memory, error) {
	d, err := startAt(ctx, s, class, tpm, c.now)
	if err != nil {
		return nil, err
	}
	m, err := keygen.NewMinter(ctx, keygen.MinterConfig{
		Class: d.class, Identity: d.counter.Identity(), Counter: d.counter,
	})
	if err != nil {
		return nil, err
	}
	minter := &countingMinter{Minter: m}
	in, err := d.journal.Intents(ctx, journal.IntentsConfig{
		Minter: minter, Random: rand.Reader, Horizon: horizon, MaxIntents: 1000, MaxStreams: 10,
		Boot: func() time.Duration { return time.Duration(c.boot.Load()) },
	})
	if err != nil {
		return nil, err
	}
	return &memory{in, d, minter, c}, nil
}

// remembering is a start in class j.
func remembering(t testing.TB, s store.Store, c *clocks) *memory {
	t.Helper()
	m, err := remember(t.Context(), s, keygen.ClassJ, nil, c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// name names an intent of user 1 that must get a name.
func (m *memory) name(t testing.TB, intent string) journal.Intent {
	t.Helper()
	got, err := m.Name(t.Context(), 1, journal.Ask{Intent: intent})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// number numbers an intent of user 1 in stream s.
func (m *memory) number(t testing.TB, intent string) journal.Numbered {
	t.Helper()
	got, err := m.Number(t.Context(), 1, "s", intent)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// forget takes steps until nothing is due.
func (m *memory) forget(t testing.TB) {
	t.Helper()
	for {
		wait, err := m.KeepStep(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if wait > 0 {
			return
		}
	}
}

func fingerprint(payload string) journal.Fingerprint {
	return journal.Fingerprint{Sum: sha256.Sum256([]byte(payload)), Known: true}
}

// records returns the keys of all records that begin so.
func records(t testing.TB, s store.Store, prefix string) (keys []string) {
	t.Helper()
	for after := []byte(nil); ; {
		all, err := s.Scan(t.Context(), []byte(prefix), after, 100)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) == 0 {
			return keys
		}
		for _, r := range all {
			keys = append(keys, string(r.Key))
		}
		after = all[len(all)-1].Key
	}
}
