package journal_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store/storetest"
)

// TestWhereAnEpochComesFrom goes through the classes with one state folder: the
// highest of all sources counts.
func TestWhereAnEpochComesFrom(t *testing.T) {
	m, tpm := storetest.NewMemory(), newTPM()
	for i, step := range []struct {
		class   keygen.Class
		counter uint64 // of the TPM, before
		want    []uint64
	}{
		{keygen.ClassJ, 1, []uint64{1, 2, 3, 4, 5}},
		{keygen.ClassH, 1, []uint64{2, 3}},       // the TPM's, whatever the journal has
		{keygen.ClassJ, 3, []uint64{6}},          // above the journal's 5, not the last one's 3
		{keygen.ClassV, 3, []uint64{7, 8}},       // above the journal's 6, not the counter's 4
		{keygen.ClassV, 9, []uint64{11, 12}},     // above the counter's 10
		{keygen.ClassJ, 11, []uint64{13}},        // above the journal's 12
		{keygen.ClassV, 11, []uint64{14, 15}},    // above the journal's 13
		{keygen.ClassH, 13, []uint64{14, 15}},    // the TPM's
		{keygen.ClassJ, 100, []uint64{16}},       // the TPM is not asked
		{keygen.ClassH, 100, []uint64{101}},      // the TPM's
		{keygen.ClassJ, 101, []uint64{102, 103}}, // above the journal's 101
	} {
		tpm.value = step.counter
		m = m.Restart()
		d := started(t, m, step.class, tpm)
		for _, want := range step.want {
			if got := d.claim(t); got != want {
				t.Errorf("step %d, class %s: epoch %d, want %d", i, step.class, got, want)
			}
		}
	}
}

// TestTPMGone returns the TPM's error in classes h and v, makes nothing up, and
// writes nothing.
func TestTPMGone(t *testing.T) {
	for _, class := range []keygen.Class{keygen.ClassH, keygen.ClassV} {
		m, tpm := storetest.NewMemory(), newTPM()
		d := started(t, m, class, tpm)
		first := d.claim(t)
		tpm.down = errTPM
		if _, err := d.counter.Next(t.Context()); !errors.Is(err, errTPM) {
			t.Errorf("class %s: %v, want the TPM's error", class, err)
		}
		commits := m.Commits()
		for range 100 {
			if _, err := d.counter.Next(t.Context()); !errors.Is(err, errTPM) {
				t.Errorf("class %s: %v, want the TPM's error", class, err)
			}
		}
		if m.Commits() != commits {
			t.Errorf("class %s: %d commits for 100 claims from a TPM that is gone", class, m.Commits()-commits)
		}
		if _, err := d.journal.Compare(t.Context(), tpm, testEK, 1); !errors.Is(err, errTPM) {
			t.Errorf("class %s: Compare: %v, want the TPM's error", class, err)
		}
		tpm.down = nil
		commits = m.Commits()
		for range 100 {
			tpm.fault = loses(0)
			if _, err := d.counter.Next(t.Context()); !errors.Is(err, errTPM) {
				t.Errorf("class %s: %v, want the TPM's error", class, err)
			}
		}
		if m.Commits() != commits {
			t.Errorf("class %s: %d commits for 100 claims from a TPM that is busy", class, m.Commits()-commits)
		}
		if epoch := d.claim(t); epoch != first+1 || whats(t, d.journal) != nil {
			t.Errorf("class %s: epoch %d after %d, rollbacks %v", class, epoch, first, whats(t, d.journal))
		}
	}
}

// TestExhausted comes to the end of what a name can hold.
func TestExhausted(t *testing.T) {
	tpm := newTPMAt(keygen.MaxEpoch - 1)
	d := started(t, storetest.NewMemory(), keygen.ClassH, tpm)
	if got := d.claim(t); got != keygen.MaxEpoch {
		t.Errorf("epoch %d", got)
	}
	v, err := d.journal.Counter(journal.CounterConfig{
		Class: keygen.ClassV, Standing: d.standing, Minter: drawMinter(), Reason: "start",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []keygen.Counter{d.counter, v} {
		if _, err := c.Next(t.Context()); !errors.Is(err, keygen.ErrExhausted) {
			t.Errorf("%v, want ErrExhausted", err)
		}
	}
	if _, err := d.journal.Compare(t.Context(), tpm, testEK, 1); !errors.Is(err, keygen.ErrExhausted) {
		t.Errorf("Compare: %v, want ErrExhausted", err)
	}
}

// TestCallerGoesAway cancels the context while the TPM works: what it did is
// written down all the same.
func TestCallerGoesAway(t *testing.T) {
	m, tpm := storetest.NewMemory(), newTPM()
	d := started(t, m, keygen.ClassH, tpm)
	ctx, cancel := context.WithCancel(t.Context())
	tpm.fault = func(s *state) (uint64, error) {
		cancel()
		s.value++
		return s.value, nil
	}
	if epoch, err := d.counter.Next(ctx); err != nil || epoch != 2 {
		t.Errorf("epoch %d, %v, want 2", epoch, err)
	}
	if _, err := d.counter.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want Canceled", err)
	}
	if got := d.claim(t); got != 3 {
		t.Errorf("epoch %d, want 3", got)
	}
}

// TestWaitForAClaim does not outlast its context.
func TestWaitForAClaim(t *testing.T) {
	tpm := newTPM()
	d := started(t, storetest.NewMemory(), keygen.ClassH, tpm)
	ctx, cancel := context.WithCancel(t.Context())
	tpm.fault = func(s *state) (uint64, error) {
		cancel()
		if _, err := d.counter.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Next: %v, want Canceled", err)
		}
		if _, err := d.journal.Compare(ctx, tpm, testEK, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("Compare: %v, want Canceled", err)
		}
		s.value++
		return s.value, nil
	}
	d.claim(t)
}

// TestClocksMeanNothing sets the clock back an hour, forward thirty years and
// back, while the daemon runs and between its starts.
func TestClocksMeanNothing(t *testing.T) {
	for _, class := range classes {
		m, tpm := storetest.NewMemory(), newTPM()
		highest := uint64(0)
		for _, atStart := range []time.Duration{0, -time.Hour, 30 * 365 * 24 * time.Hour, -56 * 365 * 24 * time.Hour, 0} {
			now := testTime.Add(atStart)
			m = m.Restart()
			clocked, err := startAt(t.Context(), m, class, tpm, func() time.Time { return now })
			if err != nil {
				t.Fatal(err)
			}
			for _, running := range []time.Duration{0, -time.Hour, 30 * 365 * 24 * time.Hour, -30 * 365 * 24 * time.Hour} {
				now = now.Add(running)
				epoch := clocked.claim(t)
				if epoch <= highest {
					t.Errorf("class %s: epoch %d after %d", class, epoch, highest)
				}
				highest = epoch
				at, here, err := clocked.journal.Lookup(t.Context(), class, clocked.counter.Identity(), epoch)
				if err != nil || !here || !at.Equal(now) {
					t.Errorf("class %s: epoch %d was claimed at %v, %v, %v, want %v", class, epoch, at, here, err, now)
				}
			}
			if got := whats(t, clocked.journal); got != nil {
				t.Errorf("class %s: rollbacks %v", class, got)
			}
		}
	}
}
