package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store/storetest"
	"github.com/opmint/opmint/tpm"
	"github.com/opmint/opmint/vtpmdetect"
)

// fakeWatch shows what a test says that has happened to the machine.
type fakeWatch struct {
	mu     sync.Mutex
	now    vtpmdetect.Timeline
	err    error
	looked func(*fakeWatch) // called before each look, with the lock held
}

func (f *fakeWatch) Current() (vtpmdetect.Timeline, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.looked != nil {
		f.looked(f)
	}
	return f.now, f.err
}

func (f *fakeWatch) Close() error { return nil }

func (f *fakeWatch) happens(change func(*fakeWatch)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fakeWatch) restore() { f.happens(func(f *fakeWatch) { f.now.Generation++ }) }
func (f *fakeWatch) setTime() { f.happens(func(f *fakeWatch) { f.now.ClockSteps++ }) }

// testMint is a mint in this process, in class h with a TPM.
type testMint struct {
	*mint
	t     *testing.T
	watch *fakeWatch
	disk  *storetest.Memory
	log   *strings.Builder
	time  time.Time // of the bucket
}

func newTestMint(t *testing.T, class keygen.Class) *testMint {
	t.Helper()
	w, disk, log := &fakeWatch{}, storetest.NewMemory(), &strings.Builder{}
	j, err := journal.Open(t.Context(), disk, time.Now)
	must(t, err)
	m := &testMint{t: t, watch: w, disk: disk, log: log, time: time.Now()}
	m.mint = &mint{
		turn: make(chan struct{}, 1), judgement: judgement{class: class}, journal: j, watch: w,
		random: newRandom(slog.New(slog.DiscardHandler)), log: slog.New(slog.NewTextHandler(log, nil)),
		claiming: context.Background(), meter: newMeter(), fail: func(err error) { t.Error(err) },
	}
	now := func() time.Time { return m.time }
	m.bucket = bucket{now: now, size: bucketSize, interval: bucketInterval}
	m.renewals = bucket{now: now, size: renewalSize, interval: renewalInterval}
	m.reader = newReader(m.readCounter)
	if class != keygen.ClassJ {
		r := newRig(t)
		device, err := tpm.Open(r.addr)
		must(t, err)
		t.Cleanup(func() { device.Close() })
		m.chip, err = openChip(t.Context(), tpm.CounterConfig{Device: device, StateDir: t.TempDir()},
			j, m.mint.log, m.meter)
		must(t, err)
	}
	must(t, m.start(t.Context()))
	return m
}

// name mints a name.
func (m *testMint) name() keygen.Name {
	m.t.Helper()
	lease, err := m.Lease(m.t.Context(), 1)
	must(m.t, err)
	n, err := lease.Name(0)
	must(m.t, err)
	return n
}

func (m *testMint) wantRollbacks(want ...journal.What) []journal.Rollback {
	m.t.Helper()
	rollbacks, err := m.journal.Rollbacks(m.t.Context())
	must(m.t, err)
	var whats []journal.What
	for _, r := range rollbacks {
		whats = append(whats, r.What)
	}
	if !slices.Equal(whats, want) {
		m.t.Errorf("the rollbacks are %v, want %v", whats, want)
	}
	return rollbacks
}

// TestPromiseMemorySnapshot is a row of the table of promises: running VM restored
// from a memory snapshot. The name that was drawn meanwhile does not go out, and
// the next is of another identity.
func TestPromiseMemorySnapshot(t *testing.T) {
	for _, class := range []keygen.Class{keygen.ClassH, keygen.ClassV, keygen.ClassJ} {
		m := newTestMint(t, class)
		first := m.name()
		m.watch.restore()
		second, third := m.name(), m.name()
		if second.Identity() == first.Identity() || second.Epoch() <= first.Epoch() || second.Seq() != 0 ||
			third.Identity() != second.Identity() || third.Seq() != 1 || second.Class() != class {
			t.Errorf("%s, restored, %s, %s", first, second, third)
		}
		if r := m.wantRollbacks("generation"); r[0].Seen != 1 || r[0].Expected != 0 {
			t.Errorf("recorded as %+v", r[0])
		}
		now, err := m.Identity(t.Context())
		if err != nil || now.Identity != second.Identity() || now.Rollbacks[0].What != "generation" {
			t.Errorf("identity %+v, %v", now, err)
		}
	}
}

// TestClockSet: a clock that was set may have been corrected after a restore that
// left no other trace, so it is another epoch.
func TestClockSet(t *testing.T) {
	for _, class := range []keygen.Class{keygen.ClassH, keygen.ClassV, keygen.ClassJ} {
		m := newTestMint(t, class)
		first := m.name()
		m.watch.setTime()
		second := m.name()
		if second.Identity() != first.Identity() || second.Epoch() <= first.Epoch() || second.Seq() != 0 {
			t.Errorf("%s, the clock is set, %s", first, second)
		}
		r := m.wantRollbacks("clock")[0]
		if apart := max(r.Seen, r.Expected) - min(r.Seen, r.Expected); apart > 60_000 {
			t.Errorf("the clock was set by %d ms", apart)
		}
	}
}

// TestClockSetOften: no more writes wear the TPM than the bucket has.
func TestClockSetOften(t *testing.T) {
	m := newTestMint(t, keygen.ClassH)
	m.name()
	for i := range 3 * bucketSize {
		m.watch.setTime()
		n := m.name()
		if want := uint64(2 + min(i+1, bucketSize)); n.Epoch() != want {
			t.Errorf("set %d times: %s, want epoch %d", i+1, n, want)
		}
	}
	m.wantRollbacks(slices.Repeat([]journal.What{"clock"}, 3*bucketSize)...)
	// A restore is no matter of wear.
	before := m.name()
	m.watch.restore()
	if n := m.name(); n.Identity() == before.Identity() || n.Epoch() <= before.Epoch() {
		t.Errorf("%s, restored, %s", before, n)
	}
}

// TestChangeUnderEveryLook: where the machine changes faster than epochs can be
// claimed, there is no name.
func TestChangeUnderEveryLook(t *testing.T) {
	m := newTestMint(t, keygen.ClassJ)
	m.name()
	m.watch.happens(func(f *fakeWatch) { f.looked = func(f *fakeWatch) { f.now.Generation++ } })
	if _, err := m.Lease(t.Context(), 1); !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("%v, want ErrUnavailable", err)
	}
	m.watch.happens(func(f *fakeWatch) { f.looked = nil })
	m.name()
}

// TestBlind: as long as the watch sees nothing, nothing goes out.
func TestBlind(t *testing.T) {
	m := newTestMint(t, keygen.ClassJ)
	first := m.name()
	m.watch.happens(func(f *fakeWatch) { f.err = vtpmdetect.ErrUnsettled })
	if _, err := m.Lease(t.Context(), 1); !errors.Is(err, vtpmdetect.ErrUnsettled) {
		t.Errorf("%v, want ErrUnsettled", err)
	}
	m.watch.happens(func(f *fakeWatch) { f.err = nil })
	if n := m.name(); n.Epoch() != first.Epoch() || n.Seq() != first.Seq()+2 {
		t.Errorf("%s follows %s", n, first)
	}
}

// TestChangesWhileMinting: whatever happens to a daemon, no number goes out twice.
func TestChangesWhileMinting(t *testing.T) {
	m := newTestMint(t, keygen.ClassJ)
	m.renewals.size = 60
	minted := newRecord(t)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 500 {
				lease, err := m.Lease(context.Background(), 1)
				if err != nil {
					t.Error(err)
					return
				}
				n, _ := lease.Name(0)
				minted.add(n)
			}
		})
	}
	for i := range 60 {
		switch i % 3 {
		case 0:
			m.watch.restore()
		case 1:
			m.watch.setTime()
		default:
			must(t, m.Renew(t.Context()))
		}
		minted.add(m.name())
	}
	wait.Wait()
	if len(minted.seen) != 2060 {
		t.Errorf("%d names", len(minted.seen))
	}
}

// staleRandom is a CPU's generator that gets stuck.
type staleRandom struct{ io.Reader }

func (staleRandom) Fresh() bool { return false }

func TestStuckGeneratorIsLoggedOnce(t *testing.T) {
	var log strings.Builder
	r := &random{freshRandom: staleRandom{rand.Reader}, log: slog.New(slog.NewTextHandler(&log, nil))}
	for range 3 {
		if _, err := r.Read(make([]byte, 16)); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Count(log.String(), "level=WARN") != 1 {
		t.Errorf("the log has\n%s", log.String())
	}
}

// TestRenewedOften: where renewals are for all and wear nothing, nobody makes more
// of them than the log and the receivers can take.
func TestRenewedOften(t *testing.T) {
	m := newTestMint(t, keygen.ClassJ)
	must(t, m.start(t.Context()))
	for range renewalSize {
		must(t, m.Renew(t.Context()))
	}
	err := m.Renew(t.Context())
	problem, ok := errors.AsType[*api.Problem](err)
	if !ok || !errors.Is(err, api.ErrOverloaded) || problem.RetryAfter != renewalInterval {
		t.Errorf("one more: %v", err)
	}
	m.time = m.time.Add(renewalInterval)
	must(t, m.Renew(t.Context()))
}
