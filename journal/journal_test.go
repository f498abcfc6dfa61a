package journal_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
)

// TestEpochsAreKeptInBounds claims more epochs than are kept, of which the newest
// are known, and the highest number for ever.
func TestEpochsAreKeptInBounds(t *testing.T) {
	const more = 3
	m := storetest.NewMemory()
	d := started(t, m, keygen.ClassJ, nil)
	for want := uint64(1); want <= journal.KeptEpochs+more; want++ {
		if got := d.claim(t); got != want {
			t.Fatalf("epoch %d, want %d", got, want)
		}
	}
	for _, test := range []struct {
		class keygen.Class
		id    keygen.Identity
		epoch uint64
		here  bool
	}{
		{keygen.ClassH, d.counter.Identity(), more + 1, false},
		{d.class, d.counter.Identity(), more, false},
		{d.class, d.counter.Identity(), more + 1, true},
		{d.class, d.counter.Identity(), more + journal.KeptEpochs, true},
		{d.class, d.counter.Identity(), more + journal.KeptEpochs + 1, false},
		{d.class, keygen.NewIdentity(testEK, [32]byte{}, [16]byte{}), more + 1, false},
		{d.class, keygen.Identity{}, more + 1, false},
	} {
		claimed, here, err := d.journal.Lookup(t.Context(), test.class, test.id, test.epoch)
		if err != nil || here != test.here || here && !claimed.Equal(testTime) {
			t.Errorf("Lookup(%v, %d) = %v, %v, %v, want %v", test.id, test.epoch, claimed, here, err, test.here)
		}
	}
	records, err := m.Scan(t.Context(), nil, nil, store.MaxScan)
	if err != nil || len(records) != 1+2*journal.KeptEpochs {
		t.Errorf("%d records, %v, want %d", len(records), err, 1+2*journal.KeptEpochs)
	}
	if got := started(t, m.Restart(), keygen.ClassJ, nil).claim(t); got != journal.KeptEpochs+more+1 {
		t.Errorf("epoch %d after a restart", got)
	}
}

// TestRollbacksAreKeptInBounds records many of one kind, which must not push out
// another.
func TestRollbacksAreKeptInBounds(t *testing.T) {
	const more = 5
	m := storetest.NewMemory()
	j := started(t, m, keygen.ClassJ, nil).journal
	record := func(what journal.What, seen uint64) {
		t.Helper()
		if err := j.Record(t.Context(), what, seen, seen+1); err != nil {
			t.Fatal(err)
		}
	}
	record(journal.WhatLedger, 1000)
	for i := range uint64(journal.KeptRollbacks + more) {
		record(journal.WhatClock, i)
		if i == 20 {
			record(journal.WhatGeneration, 2000)
		}
	}
	got, err := j.Rollbacks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []journal.Rollback{{Time: testTime, What: journal.WhatLedger, Seen: 1000, Expected: 1001}}
	for i := uint64(more); i < journal.KeptRollbacks+more; i++ {
		want = append(want, journal.Rollback{Time: testTime, What: journal.WhatClock, Seen: i, Expected: i + 1})
		if i == 20 {
			want = append(want, journal.Rollback{Time: testTime, What: journal.WhatGeneration, Seen: 2000, Expected: 2001})
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("rollbacks %v, want %v", got, want)
	}
	if err := j.Record(t.Context(), "weather", 1, 2); err == nil {
		t.Error("a rollback of an unknown kind was recorded")
	}
}

// TestSince moves only for what may have taken the journal back.
func TestSince(t *testing.T) {
	now := testTime
	j, err := journal.Open(t.Context(), storetest.NewMemory(), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	want := now
	for _, test := range []struct {
		what  journal.What
		moves bool
	}{
		{journal.WhatTPM, false}, {journal.WhatClock, false}, {journal.WhatLedger, false},
		{journal.WhatJournal, true}, {journal.WhatGeneration, true},
	} {
		now = now.Add(time.Hour)
		if err := j.Record(t.Context(), test.what, 1, 2); err != nil {
			t.Fatal(err)
		}
		if test.moves {
			want = now
		}
		if got, err := j.Since(t.Context()); err != nil || !got.Equal(want) {
			t.Errorf("after a rollback of %s: since %v, %v, want %v", test.what, got, err, want)
		}
	}
}

// TestStartWithAFullJournalIsCheap compares it with a start of a journal that is
// nearly empty, by the records read up to the first epoch.
func TestStartWithAFullJournalIsCheap(t *testing.T) {
	for _, class := range classes {
		m, tpm := storetest.NewMemory(), newTPM()
		started(t, m, class, tpm).claim(t)
		read := func() int {
			m = m.Restart()
			c := &counting{Memory: m}
			started(t, c, class, tpm).claim(t)
			return c.records
		}
		few := read()
		d := started(t, m, class, tpm)
		for range journal.KeptEpochs {
			d.claim(t)
		}
		for range journal.KeptRollbacks {
			for _, what := range []journal.What{journal.WhatTPM, journal.WhatClock} {
				if err := d.journal.Record(t.Context(), what, 1, 2); err != nil {
					t.Fatal(err)
				}
			}
		}
		if many := read(); many > few || many > 8 {
			t.Errorf("class %s: %d records read, %d with a short journal", class, many, few)
		}
	}
}

// TestDamageIsNoBeginning damages each record in turn.
func TestDamageIsNoBeginning(t *testing.T) {
	for _, class := range classes {
		m, tpm := storetest.NewMemory(), newTPM()
		d := started(t, m, class, tpm)
		for range journal.KeptEpochs {
			d.claim(t)
		}
		if err := d.journal.Record(t.Context(), journal.WhatClock, 1, 2); err != nil {
			t.Fatal(err)
		}
		records, err := m.Scan(t.Context(), nil, nil, store.MaxScan)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, r := range records {
			kind, _ := filepath.Split(string(r.Key))
			if seen[kind] && kind != "" {
				continue
			}
			seen[kind] = true
			for _, value := range [][]byte{[]byte("garbage"), r.Value[:len(r.Value)/2], append(r.Value, ' '), []byte("{}")} {
				damaged := m.Clone()
				write := store.Write{Key: r.Key, Value: value}
				if err := damaged.Commit(t.Context(), nil, []store.Write{write}); err != nil {
					t.Fatal(err)
				}
				if err := useAll(t, damaged, class, tpm, d.counter.Identity()); !errors.Is(err, store.ErrDamaged) {
					t.Errorf("class %s: %s = %q: %v, want ErrDamaged", class, r.Key, value, err)
				}
			}
		}
	}
}

// useAll starts on s and does all there is to do. It claims until each slot was
// used.
func useAll(t *testing.T, s store.Store, class keygen.Class, tpm *fakeTPM, id keygen.Identity) error {
	t.Helper()
	d, err := start(t.Context(), s, class, tpm)
	if err != nil {
		return err
	}
	if _, err := d.journal.Rollbacks(t.Context()); err != nil {
		return err
	}
	for epoch := range uint64(journal.KeptEpochs + 10) {
		if _, _, err := d.journal.Lookup(t.Context(), d.class, id, epoch); err != nil {
			return err
		}
	}
	for range journal.KeptEpochs {
		if _, err := d.counter.Next(t.Context()); err != nil {
			return err
		}
	}
	return nil
}

// TestRecordsWithoutAHead is a store of which the most important record is gone.
func TestRecordsWithoutAHead(t *testing.T) {
	m := storetest.NewMemory()
	d := started(t, m, keygen.ClassJ, nil)
	d.claim(t)
	if err := m.Commit(t.Context(), nil, []store.Write{{Key: []byte("journal")}}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.counter.Next(t.Context()); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Next: %v, want ErrDamaged", err)
	}
	if _, err := d.journal.Since(t.Context()); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Since: %v, want ErrDamaged", err)
	}
	if _, err := journal.Open(t.Context(), m, testClock); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Open: %v, want ErrDamaged", err)
	}
}

// TestOnDisk goes through a file, as opmintd does.
func TestOnDisk(t *testing.T) {
	path, tpm := filepath.Join(t.TempDir(), "journal"), newTPM()
	for want := uint64(2); want < 6; want++ {
		s, err := store.Open(t.Context(), path, store.Options{Kind: store.Journal})
		if err != nil {
			t.Fatal(err)
		}
		d := started(t, s, keygen.ClassH, tpm)
		if got := d.claim(t); got != want {
			t.Errorf("epoch %d, want %d", got, want)
		}
		if got := whats(t, d.journal); got != nil {
			t.Errorf("rollbacks %v", got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
