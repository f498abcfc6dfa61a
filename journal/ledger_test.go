package journal_test

import (
	"errors"
	"testing"
	"time"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
)

// TestLedgerMark: the last mark counts, after each restart too.
func TestLedgerMark(t *testing.T) {
	disk := storetest.NewMemory()
	for _, m := range []journal.LedgerMark{
		{ID: [16]byte{1}, Events: 7}, {ID: [16]byte{1}, Events: 7}, {ID: [16]byte{2}}, {ID: [16]byte{2}, Events: 1 << 63},
	} {
		j, err := journal.Open(t.Context(), disk, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.MarkLedger(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if got, err := j.LedgerMark(t.Context()); err != nil || got != m {
			t.Errorf("%+v, %v, want %+v", got, err, m)
		}
	}
}

// TestNoLedgerMark: none is zero, and what is no mark is damage.
func TestNoLedgerMark(t *testing.T) {
	disk := storetest.NewMemory()
	j, err := journal.Open(t.Context(), disk, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := j.LedgerMark(t.Context()); err != nil || !got.IsZero() {
		t.Errorf("%+v, %v", got, err)
	}
	write := []store.Write{{Key: []byte("ledger"), Value: []byte(`{"id":"00","events":1}`)}}
	if err := disk.Commit(t.Context(), nil, write); err != nil {
		t.Fatal(err)
	}
	if _, err := j.LedgerMark(t.Context()); !errors.Is(err, store.ErrDamaged) {
		t.Error(err)
	}
	if err := j.MarkLedger(t.Context(), journal.LedgerMark{}); !errors.Is(err, store.ErrDamaged) {
		t.Error(err)
	}
}
