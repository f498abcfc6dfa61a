package journal

import (
	"context"
	"fmt"
	"time"

	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
)

// KeptEpochs is how many epochs the journal remembers, the newest. The highest
// number of all is remembered for ever.
const KeptEpochs = 1024

const headKey = "journal"

// Journal is a minter's memory in a store. Its methods may be called at once.
type Journal struct {
	store store.Store
	now   func() time.Time
	turn  chan struct{} // holds a token while a claim or a comparison is under way
}

// Open returns the journal in s, a new one if s is empty. Times are taken from
// now. The store stays the caller's to close.
//
// A record that is not what a journal wrote is a [store.ErrDamaged], here and
// in all methods, and so is a store that holds records but no journal.
func Open(ctx context.Context, s store.Store, now func() time.Time) (*Journal, error) {
	j := &Journal{store: s, now: now, turn: make(chan struct{}, 1)}
	if err := j.edit(ctx, func(e *edit) error { return j.begin(ctx, e) }); err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return j, nil
}

// begin writes the head of a new journal.
func (j *Journal) begin(ctx context.Context, e *edit) error {
	var h head
	if found, err := e.load(ctx, headKey, &h); err != nil || found {
		return err
	}
	others, err := j.store.Scan(ctx, nil, nil, 1)
	if err != nil {
		return err
	}
	if len(others) > 0 {
		return fmt.Errorf("%w: it holds record %.80q, but no record %s", store.ErrDamaged, others[0].Key, headKey)
	}
	return e.put(headKey, &head{Since: j.time()})
}

// Since returns since when memory is unbroken as far as is known: the beginning
// of this journal, or the last time it was noticed that it, or the whole machine,
// had gone back ([WhatJournal], [WhatGeneration]).
func (j *Journal) Since(ctx context.Context) (time.Time, error) {
	var h head
	if err := (&edit{store: j.store}).need(ctx, headKey, &h); err != nil {
		return time.Time{}, fmt.Errorf("read journal: %w", err)
	}
	return h.Since, nil
}

// Lookup reports whether this journal knows an epoch as its own, claimed for names
// of that class and identity, and when that was. It knows the newest [KeptEpochs]; that a name of the epoch was handed
// out it does not say.
func (j *Journal) Lookup(
	ctx context.Context, class keygen.Class, id keygen.Identity, epoch uint64,
) (claimed time.Time, here bool, err error) {
	if id.IsZero() {
		return time.Time{}, false, nil
	}
	var r epochRecord
	here, err = (&edit{store: j.store}).load(ctx, epochKey(id, epoch), &r)
	if err != nil {
		return time.Time{}, false, fmt.Errorf("look up epoch %d of %s: %w", epoch, id, err)
	}
	if !here || r.Class != class {
		return time.Time{}, false, nil
	}
	return r.Claimed, true, nil
}

// addEpoch adds r to the epochs and forgets the one whose slot it takes.
func (e *edit) addEpoch(ctx context.Context, h *head, r *epochRecord) error {
	slot := fmt.Sprintf("slot/%04d", h.Epochs%KeptEpochs)
	var old slotRecord
	found, err := e.load(ctx, slot, &old)
	if err != nil {
		return err
	}
	if found {
		e.remove(epochKey(old.Identity, old.Epoch))
	}
	h.Epochs++
	h.Highest = max(h.Highest, r.Epoch)
	if err := e.put(headKey, h); err != nil {
		return err
	}
	if err := e.put(slot, &slotRecord{Identity: r.Identity, Epoch: r.Epoch}); err != nil {
		return err
	}
	return e.put(epochKey(r.Identity, r.Epoch), r)
}

func epochKey(id keygen.Identity, epoch uint64) string {
	return fmt.Sprintf("epoch/%s/%010x", id, epoch)
}

// time is the time as records have it.
func (j *Journal) time() time.Time { return j.now().UTC().Truncate(time.Millisecond) }

// wait waits for the turn to claim or to compare. Without an error, the caller
// gives it back with done.
func (j *Journal) wait(ctx context.Context) error {
	select {
	case j.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for another claim: %w", ctx.Err())
	}
}

func (j *Journal) done() { <-j.turn }
