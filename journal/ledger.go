package journal

import (
	"context"
	"encoding/hex"
	"fmt"
)

const ledgerKey = "ledger"

// LedgerMark says how far the receiver's ledger was when it was marked. A ledger of
// the same ID that has fewer events is an older copy of it.
type LedgerMark struct {
	ID     [16]byte // of the ledger
	Events uint64   // that it had, at least
}

// IsZero reports whether m is the zero LedgerMark: there never was one.
func (m LedgerMark) IsZero() bool { return m == LedgerMark{} }

// ledgerRecord is a LedgerMark as it is kept.
type ledgerRecord struct {
	ID     string `json:"id"`
	Events uint64 `json:"events"`
}

func (r *ledgerRecord) valid() error { return readHex(r.ID, make([]byte, 16)) }

// LedgerMark returns what MarkLedger marked last, or the zero LedgerMark.
func (j *Journal) LedgerMark(ctx context.Context) (LedgerMark, error) {
	var r ledgerRecord
	found, err := (&edit{store: j.store}).load(ctx, ledgerKey, &r)
	if err != nil {
		return LedgerMark{}, fmt.Errorf("read how far the ledger was: %w", err)
	}
	m := LedgerMark{Events: r.Events}
	if found {
		err = readHex(r.ID, m.ID[:])
	}
	return m, err
}

// MarkLedger notes how far the ledger is, in place of what was marked before. All of
// those events are durable by now.
func (j *Journal) MarkLedger(ctx context.Context, m LedgerMark) error {
	err := j.edit(ctx, func(e *edit) error {
		var before ledgerRecord
		if _, err := e.load(ctx, ledgerKey, &before); err != nil {
			return err
		}
		now := ledgerRecord{hex.EncodeToString(m.ID[:]), m.Events}
		if before == now {
			return nil
		}
		return e.put(ledgerKey, &now)
	})
	if err != nil {
		return fmt.Errorf("note how far the ledger is: %w", err)
	}
	return nil
}
