package ledger

import (
	"context"
	"errors"
	"time"
)

// Extend implements Ledger.
func (v *view) Extend(ctx context.Context, r Ref, h Hold, lease time.Duration) (Operation, error) {
	if err := validLease(lease); err != nil {
		return Operation{}, err
	}
	return v.change(ctx, r, nil, func(t *tx, q *query, s *scope, o *op) (Operation, error) {
		if err := v.keeper.held(t, q, s, o, h); err != nil {
			return Operation{}, err
		}
		if !o.open() {
			return Operation{}, q.refuse(ErrFenced, "it has ended: %s", o.state)
		}
		next := *o
		next.state, next.lapsed, next.due = Running, false, t.now+lease.Milliseconds()
		return t.step(q, whatExtended, &next)
	})
}

// Finish implements Ledger.
func (v *view) Finish(ctx context.Context, r Ref, h Hold, outcome State, result *Result) (Operation, error) {
	if outcome != Applied && outcome != Failed && outcome != Unknown {
		return Operation{}, invalid("outcome %.40q: must be %s, %s or %s", outcome, Applied, Failed, Unknown)
	}
	kept, err := keepResult(result)
	if err != nil {
		return Operation{}, err
	}
	return v.change(ctx, r, kept, func(t *tx, q *query, s *scope, o *op) (Operation, error) {
		if err := v.keeper.held(t, q, s, o, h); err != nil {
			return Operation{}, err
		}
		if !o.open() {
			if o.state == outcome && !o.settled && o.digest == kept.sum() {
				return o.public(q.ref(), t.now, t.wall), nil
			}
			return Operation{}, q.refuse(ErrFenced, "it has ended already: %s", o.state)
		}
		return t.end(q, s, o, whatFinished, outcome, kept)
	})
}

// Settle implements Ledger.
func (v *view) Settle(ctx context.Context, r Ref, outcome State, result *Result) (Operation, error) {
	if outcome != Applied && outcome != Failed {
		return Operation{}, invalid("outcome %.40q: must be %s or %s", outcome, Applied, Failed)
	}
	kept, err := keepResult(result)
	if err != nil {
		return Operation{}, err
	}
	return v.change(ctx, r, kept, func(t *tx, q *query, s *scope, o *op) (Operation, error) {
		if o == nil {
			return v.keeper.settleUnseen(t, q, s, outcome, kept)
		}
		known := o.public(q.ref(), t.now, t.wall)
		switch err := t.expired(s, o, q, known); {
		case err != nil:
			return Operation{}, err
		case known.State == Running:
			refusal := q.refuse(ErrInProgress, "it is held until %s", known.LeaseExpires.Format(time.RFC3339))
			refusal.RetryAfter = time.Duration(o.due-t.now) * time.Millisecond
			return Operation{}, refusal
		case known.State == outcome && (kept == nil || o.digest == kept.digest):
			return known, nil
		case known.State != Unknown:
			return Operation{}, q.refuse(ErrFenced, "it has ended already: %s", o.state)
		}
		next := *o
		next.settled = true
		if kept == nil {
			return t.finish(q, &next, whatSettled, outcome)
		}
		return t.end(q, s, &next, whatSettled, outcome, kept)
	})
}

// settleUnseen settles a name that a suspect ledger has not seen, as if it had been
// begun before.
func (k *Keeper) settleUnseen(t *tx, q *query, s *scope, outcome State, result *kept) (Operation, error) {
	f, err := t.floorOf(s, q)
	if err != nil {
		return Operation{}, err
	}
	switch err := k.fresh(t, s, q, f); {
	case err == nil:
		return Operation{}, q.refuse(ErrNotFound, "it never began")
	case !errors.Is(err, ErrOutcomeUnknown):
		return Operation{}, err
	}
	if err := k.room(t, q, s, 1, uint64(len(q.name.text)), 0); err != nil {
		return Operation{}, err
	}
	if s, err = k.make(t, q, s); err != nil {
		return Operation{}, err
	}
	unseen := &op{uid: q.uid, began: t.wall, settled: true}
	return t.end(q, s, unseen, whatSettled, outcome, result, f.raise(q)...)
}

// change makes a change of an operation, which is nil if there is none.
func (v *view) change(
	ctx context.Context, r Ref, result *kept, decide func(*tx, *query, *scope, *op) (Operation, error),
) (Operation, error) {
	q, err := v.query(r)
	if err != nil {
		return Operation{}, err
	}
	size := 2048
	if result != nil {
		size += len(result.data)
	}
	var answer Operation
	err = v.keeper.do(ctx, &call{
		uid: v.uid, ops: 16, size: size,
		decide: func(t *tx) error {
			s, o, err := t.find(&q)
			if err != nil {
				return err
			}
			answer, err = decide(t, &q, s, o)
			return err
		},
	})
	if err != nil {
		return Operation{}, v.keeper.counted(err)
	}
	return answer, nil
}

// held says why h is not the hold of an operation; or nothing.
func (k *Keeper) held(t *tx, q *query, s *scope, o *op, h Hold) error {
	if o == nil {
		return k.missing(t, s, q)
	}
	if err := t.expired(s, o, q, o.public(q.ref(), t.now, t.wall)); err != nil {
		return err
	}
	if !o.holds(h) {
		return q.refuse(ErrFenced, "the hold is not the current one: it was handed on, or was never this")
	}
	return nil
}

// missing says what is known of a name that its scope does not hold.
func (k *Keeper) missing(t *tx, s *scope, q *query) error {
	f, err := t.floorOf(s, q)
	if err != nil {
		return err
	}
	if err := k.unseen(t, s, q, f); err != nil {
		return err
	}
	return q.refuse(ErrNotFound, "it never began")
}

// end ends an operation with a result, or none.
func (t *tx) end(
	q *query, s *scope, o *op, w what, outcome State, result *kept, also ...item,
) (Operation, error) {
	next := *o
	next.keep(result)
	answer, err := t.finish(q, &next, w, outcome, also...)
	if err == nil && next.apart() {
		t.put(s.place.key(kindResult, q.name.text), result.data)
	}
	return answer, err
}

// finish ends an operation.
func (t *tx) finish(q *query, o *op, w what, outcome State, also ...item) (Operation, error) {
	next := *o
	next.state, next.lapsed, next.ended, next.due = outcome, false, t.wall, t.now
	return t.step(q, w, &next, also...)
}

// sum returns the digest of a result, zero for none.
func (k *kept) sum() (digest [32]byte) {
	if k != nil {
		digest = k.digest
	}
	return digest
}
