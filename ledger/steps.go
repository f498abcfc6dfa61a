package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/opmint/opmint/store"
)

const (
	// slack is how much later than at its horizon a record is purged and its floor
	// raised. It is as long as a lease of names lives, for such names may be used in
	// another order than theirs. In between the name is expired already.
	slack = int64(time.Minute / time.Millisecond)

	mourning = 10 // horizons that a tombstone stays

	stepItems = 256                                        // records that one step looks at
	idle      = time.Second                                // between steps, if there is nothing to do
	saveTime  = int64(10 * time.Minute / time.Millisecond) // how often the time is written down, if nothing else is
)

// Run does the work that nobody waits for, in small steps, until ctx ends: it
// writes down that leases ran out, purges, drops tombstones, and makes checkpoints
// of the log. It returns the error of ctx, or what ended the store for good.
func (k *Keeper) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		more, err := k.Step(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, store.ErrStopped) || errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrOutcomeUnknown):
			return err
		case err != nil:
			k.report(err)
			timer.Reset(idle)
		case more:
			timer.Reset(0)
		default:
			timer.Reset(idle)
		}
	}
}

// Step does one small step of the work of Run, and reports whether there is more
// to do by now.
func (k *Keeper) Step(ctx context.Context) (more bool, err error) {
	for _, work := range []func(context.Context) (bool, error){k.lapse, k.purge, k.checkpoint, k.save} {
		again, err := work(ctx)
		if err != nil {
			return false, err
		}
		more = more || again
	}
	return more, nil
}

// background makes a change that no caller asked for. Without a look that says it is
// needed, nothing is written.
func (k *Keeper) background(ctx context.Context, ops int, decide func(t *tx) (more bool, err error)) (more bool, err error) {
	err = k.do(ctx, &call{
		uid: sharedOwner, ops: ops, size: 1 << 20,
		decide: func(t *tx) (err error) {
			more, err = decide(t)
			return err
		},
	})
	if err != nil {
		return false, err
	}
	return more, nil
}

// due reports whether the first entry of an index by time is of now or before.
func (t *tx) due(kind byte) (bool, error) {
	records, err := t.store.Scan(t.ctx, []byte{kind}, nil, 1)
	if err != nil || len(records) == 0 {
		return false, err
	}
	at, _ := timeOf(records[0].Key)
	return at <= t.now, nil
}

// lapse writes down which leases have run out.
func (k *Keeper) lapse(ctx context.Context) (more bool, err error) {
	if due, err := k.read(ctx).due(kindLease); err != nil || !due {
		return false, unavailable(err)
	}
	return k.background(ctx, 8*stepItems, func(t *tx) (bool, error) {
		records, err := t.store.Scan(t.ctx, []byte{kindLease}, nil, stepItems)
		if err != nil {
			return false, err
		}
		for _, r := range records {
			at, p := timeOf(r.Key)
			if at > t.now {
				return false, nil
			}
			if err := t.lapsed(p.owner, string(r.Value), string(r.Key[atTimed:])); err != nil {
				return false, err
			}
		}
		return len(records) == stepItems, nil
	})
}

// lapsed writes down that a lease has run out, if that is still so.
func (t *tx) lapsed(owner uint32, scope, name string) error {
	s, err := t.scope(owner, scope)
	if err != nil || s == nil {
		return err
	}
	o, err := t.op(s, name)
	if err != nil || o == nil || o.state != Running || o.due > t.now {
		return err
	}
	next := *o
	next.state, next.lapsed = Unknown, true
	return t.emit(owner, &event{what: whatLapsed, scope: scope, items: []item{{kind: kindOp, key: name, rec: &next}}})
}

// save writes down the time if that was not done for long.
func (k *Keeper) save(ctx context.Context) (more bool, err error) {
	if k.time.now(0)-k.saved.Load() < saveTime {
		return false, nil
	}
	return k.background(ctx, 1, func(t *tx) (bool, error) { return false, saveTheTime(t) })
}

// saveTheTime commits the time, if nothing else.
func saveTheTime(t *tx) error {
	t.dirty = true
	return nil
}
