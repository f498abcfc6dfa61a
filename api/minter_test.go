package api_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// seq mints a name and returns its number.
func seq(t *testing.T, m *api.Minter) uint64 {
	t.Helper()
	name, err := m.Name(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return name.Seq()
}

// TestMinterDropsLeases: when a lease ends by either clock, the next name is of
// another lease.
func TestMinterDropsLeases(t *testing.T) {
	const hour = time.Hour
	for name, c := range map[string]struct {
		class   keygen.Class
		life    time.Duration
		passes  api.Time
		dropped bool
	}{
		"nothing":                 {'j', time.Second, api.Time{}, false},
		"almost all of it":        {'j', time.Second, all(989 * time.Millisecond), false},
		"all but the granularity": {'j', time.Second, all(990 * time.Millisecond), true},
		"in class v":              {'v', time.Second, all(time.Second), true},
		"in class h":              {'h', time.Minute, all(time.Minute), true},
		"most of it in class h":   {'h', time.Minute, all(59 * time.Second), false},
		"the machine slept":       {'j', time.Second, api.Time{Wall: hour, Ticks: 1 << 40}, true},
		"it slept without ticks":  {'j', time.Second, api.Time{Wall: hour, Ticks: 1<<64 - 1<<49}, true},
		"the wall was set back":   {'j', time.Second, api.Time{Monotonic: time.Second, Wall: -hour, Ticks: 1 << 31}, true},
		"back, and time is left":  {'h', time.Minute, api.Time{Monotonic: time.Second, Wall: -hour, Ticks: 1 << 31}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m, clock := (&lender{class: c.class, life: c.life}).minter(t)
			if got := seq(t, m); got != 0 {
				t.Fatalf("the first name has seq %d", got)
			}
			clock.Pass(c.passes)
			if got := seq(t, m); (got >= api.SmallLease) != c.dropped {
				t.Errorf("the next name has seq %d of leases of %d", got, api.SmallLease)
			}
		})
	}
}

// all is time that passes for all clocks.
func all(d time.Duration) api.Time {
	return api.Time{Monotonic: d, Wall: d, Ticks: max(api.TicksApart, uint64(d))}
}

// TestMinterAfterTheEnd: a lease that has ended is over for good, whether another
// can be had or not and wherever the clocks go.
func TestMinterAfterTheEnd(t *testing.T) {
	l := &lender{class: 'j', life: time.Second}
	m, clock := l.minter(t)
	seq(t, m)
	clock.Pass(api.Time{Wall: time.Hour, Ticks: api.TicksApart})
	l.setChange(func(lease *api.Lease) { lease.Count = 0 })
	for range 3 {
		if name, err := m.Name(t.Context()); err == nil {
			t.Fatalf("%s, of a lease that has ended", name)
		}
	}
	clock.Pass(api.Time{Wall: -time.Hour})
	l.setChange(nil)
	if got := seq(t, m); got < api.SmallLease {
		t.Errorf("seq %d, of the lease that had ended", got)
	}
}

// TestMinterGrows: leases double while they are used up, and shrink when not.
func TestMinterGrows(t *testing.T) {
	l := &lender{class: 'j', life: time.Second}
	m, clock := l.minter(t)
	var dst []byte
	for len(l.counts()) < 11 {
		var err error
		if dst, err = m.AppendName(t.Context(), dst[:0]); err != nil {
			t.Fatal(err)
		}
	}
	want := uint64(api.SmallLease)
	for i, got := range l.counts() {
		if got != want {
			t.Errorf("lease %d: %d names asked for, want %d", i, got, want)
		}
		want = min(2*want, api.MaxLease)
	}
	for range 3 { // one in use, one asked for since, one hardly used
		m.Settle()
		clock.Pass(all(time.Second))
		seq(t, m)
	}
	if all := l.counts(); all[len(all)-1] != api.SmallLease {
		t.Errorf("leases hardly used: %d names asked for, want %d", all, api.SmallLease)
	}
}

// TestMinterPrefetches: the next lease is asked for while the one in use has names
// and time left, so that a slow daemon keeps nobody waiting.
func TestMinterPrefetches(t *testing.T) {
	l := &lender{class: 'j', life: time.Second, gate: make(chan struct{}, 1)}
	m, clock := l.minter(t)
	l.gate <- struct{}{}
	last := seq(t, m)
	for !m.Asking() {
		last = seq(t, m)
	}
	if last < api.SmallLease/2 || last >= api.SmallLease {
		t.Errorf("asked for another lease at seq %d of %d", last, api.SmallLease)
	}
	l.gate <- struct{}{}
	m.Settle()
	for last < api.SmallLease {
		last = seq(t, m)
	}
	clock.Pass(all(700 * time.Millisecond))
	if seq(t, m); m.Asking() {
		t.Error("asks for another lease while most of it is left")
	}
	clock.Pass(all(100 * time.Millisecond))
	if seq(t, m); !m.Asking() {
		t.Error("does not ask for another lease before this one ends")
	}
	close(l.gate)
}

// TestMinterRefusesBadLeases: what no daemon grants is an error, and no name.
func TestMinterRefusesBadLeases(t *testing.T) {
	for says, change := range map[string]func(*api.Lease){
		"lease of 0 seqs":        func(l *api.Lease) { l.Count = 0 },
		"the longest is 1m0s":    func(l *api.Lease) { l.ExpiresInMS = 60_001 },
		"was over":               func(l *api.Lease) { l.ExpiresInMS = 10 },
		"a lease of -1ms":        func(l *api.Lease) { l.ExpiresInMS = -1 },
		"in classes h, v and j":  func(l *api.Lease) { l.Class = keygen.ClassS },
		"the highest is 1099511": func(l *api.Lease) { l.First = 1 << 40 },
	} {
		m, _ := (&lender{class: 'j', life: time.Second, change: change}).minter(t)
		got, err := m.AppendName(t.Context(), []byte("x"))
		if err == nil || !strings.Contains(err.Error(), says) || string(got) != "x" {
			t.Errorf("%s, %v, want it to say %q", got, err, says)
		}
	}
}

// TestMinterWaits: whoever waits for a daemon that does not answer stops waiting
// when its context ends or the Minter is closed.
func TestMinterWaits(t *testing.T) {
	l := &lender{class: 'j', life: time.Second, gate: make(chan struct{})}
	m, _ := l.minter(t)
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	results := make(chan error)
	for _, ctx := range []context.Context{ctx, t.Context()} {
		go func() {
			_, err := m.Name(ctx)
			results <- err
		}()
	}
	cancel(enough)
	if err := <-results; !errors.Is(err, enough) {
		t.Errorf("when its context ends: %v", err)
	}
	m.Close()
	if err := <-results; !errors.Is(err, context.Canceled) && !errors.Is(err, api.ErrMinterClosed) {
		t.Errorf("when the minter is closed: %v", err)
	}
	if _, err := m.Name(t.Context()); !errors.Is(err, api.ErrMinterClosed) {
		t.Errorf("after that: %v", err)
	}
	close(l.gate)
}

// TestTicks: the counter goes on, so that time that passes is seen.
func TestTicks(t *testing.T) {
	if api.TicksApart == 0 {
		return // there is none here, and every name looks at the clocks
	}
	for start := api.Ticks(); api.Ticks()-start < api.TicksApart; {
		if t.Context().Err() != nil {
			t.Fatal("it does not")
		}
	}
}
