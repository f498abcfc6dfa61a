package journal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/opmint/opmint/store"
)

// KeptRollbacks is how many rollbacks of each kind the journal remembers, the
// newest, so that a kind that happens often cannot push out the others.
const KeptRollbacks = 32

// What is what went back.
type What string

// All kinds of rollback, with the unit of what was seen and expected.
const (
	WhatTPM        What = "tpm"        // the TPM's counter; its values
	WhatJournal    What = "journal"    // the journal; values of the TPM's counter
	WhatGeneration What = "generation" // the virtual machine; its generation counters
	WhatClock      What = "clock"      // the clock, or it was set; milliseconds since 1970
	WhatLedger     What = "ledger"     // the ledger; its events
)

func (w What) known() bool {
	return slices.Contains([]What{WhatTPM, WhatJournal, WhatGeneration, WhatClock, WhatLedger}, w)
}

// Rollback is something that went back, or may have.
type Rollback struct {
	Time     time.Time `json:"time"`     // when it was noticed, in UTC
	What     What      `json:"what"`     // what went back
	Seen     uint64    `json:"seen"`     // in the unit of its kind
	Expected uint64    `json:"expected"` // likewise; for tpm at least, for journal at most
}

// IsZero reports whether r is the zero Rollback: none.
func (r Rollback) IsZero() bool { return r == Rollback{} }

// rollbackRecord is a rollback with its number among all, from 0.
type rollbackRecord struct {
	Number uint64 `json:"number"`
	Rollback
}

func (r *rollbackRecord) valid() error {
	if !r.What.known() {
		return fmt.Errorf("rollback of kind %.40q", r.What)
	}
	return validTime(r.Time)
}

const rollbackPrefix = "rollback/"

// Record records a rollback that the caller noticed. Those of TPM and journal
// are noticed by [Journal.Compare] and [Counter.Next].
func (j *Journal) Record(ctx context.Context, what What, seen, expected uint64) error {
	err := j.edit(ctx, func(e *edit) error {
		return e.addRollback(ctx, Rollback{Time: j.time(), What: what, Seen: seen, Expected: expected})
	})
	if err != nil {
		return fmt.Errorf("record a rollback of %s: %w", what, err)
	}
	return nil
}

// addRollback adds r to the rollbacks, in place of the oldest of its kind.
func (e *edit) addRollback(ctx context.Context, r Rollback) error {
	var h head
	if err := e.need(ctx, headKey, &h); err != nil {
		return err
	}
	number := uint64(0)
	for _, n := range h.Rollbacks {
		number += n
	}
	slot := h.Rollbacks[r.What] % KeptRollbacks
	if h.Rollbacks == nil {
		h.Rollbacks = map[What]uint64{}
	}
	h.Rollbacks[r.What]++
	if r.What == WhatJournal || r.What == WhatGeneration {
		h.Since = r.Time
	}
	if err := e.put(headKey, &h); err != nil {
		return err
	}
	return e.put(fmt.Sprintf("%s%s/%02d", rollbackPrefix, r.What, slot), &rollbackRecord{Number: number, Rollback: r})
}

// Rollbacks returns the rollbacks that the journal remembers, in the order in
// which they were noticed.
func (j *Journal) Rollbacks(ctx context.Context) ([]Rollback, error) {
	var all []rollbackRecord
	err := j.scan(ctx, rollbackPrefix, func(r store.Record) error {
		var rollback rollbackRecord
		if err := decode(r.Value, &rollback); err != nil {
			return fmt.Errorf("record %s: %w", r.Key, err)
		}
		all = append(all, rollback)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read rollbacks: %w", err)
	}
	slices.SortFunc(all, func(a, b rollbackRecord) int { return cmp.Compare(a.Number, b.Number) })
	rollbacks := make([]Rollback, len(all))
	for i, r := range all {
		rollbacks[i] = r.Rollback
	}
	return rollbacks, nil
}

// scan calls fn for each record whose key begins with prefix.
func (j *Journal) scan(ctx context.Context, prefix string, fn func(store.Record) error) error {
	for after := []byte(nil); ; {
		records, err := j.store.Scan(ctx, []byte(prefix), after, 100)
		if err != nil || len(records) == 0 {
			return err
		}
		for _, r := range records {
			if err := fn(r); err != nil {
				return err
			}
		}
		after = records[len(records)-1].Key
	}
}
