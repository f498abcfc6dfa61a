package ledger

import (
	"context"
	"fmt"
	"time"
)

// query is a checked Ref, and who asks.
type query struct {
	uid   uint32
	owner uint32
	scope string
	name  name
}

func (q *query) ref() Ref { return Ref{Scope: q.scope, Name: q.name.text} }

// String says which operation it is, in errors.
func (q *query) String() string { return fmt.Sprintf("%s in scope %s", q.name.text, q.scope) }

// refuse returns a refusal of what was asked for.
func (q *query) refuse(reason error, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Detail: q.String() + ": " + fmt.Sprintf(format, args...)}
}

func (a *Attempt) valid() error {
	if a.Lease == 0 {
		a.Lease = DefaultLease
	}
	if err := validText(a.Holder, MaxHolder); err != nil {
		return invalid("holder: %w", err)
	}
	switch a.Orphan {
	case "":
		a.Orphan = OrphanReject
	case OrphanReject, OrphanRetry:
	default:
		return invalid("orphan %.40q: must be %s or %s", a.Orphan, OrphanReject, OrphanRetry)
	}
	return validLease(a.Lease)
}

func validLease(lease time.Duration) error {
	if lease < MinLease || lease > MaxLease {
		return invalid("lease of %v: must be %v to %v", lease, MinLease, MaxLease)
	}
	return nil
}

// Begin implements Ledger.
func (v *view) Begin(ctx context.Context, r Ref, a Attempt) (Operation, error) {
	q, err := v.query(r)
	if err != nil {
		return Operation{}, err
	}
	if err := a.valid(); err != nil {
		return Operation{}, err
	}
	// What needs no write, such as a repeat, waits for none.
	answer, writes, err := v.keeper.recall(v.keeper.read(ctx), &q, &a)
	if err != nil || !writes {
		return answer, v.keeper.counted(unavailable(err))
	}
	err = v.keeper.do(ctx, &call{
		uid: v.uid, ops: 16, size: 2048,
		decide: func(t *tx) (err error) {
			answer, err = v.keeper.begin(t, &q, &a)
			return err
		},
	})
	if err != nil {
		return Operation{}, v.keeper.counted(err)
	}
	return answer, nil
}

// recall answers an attempt from what is there, or says that this takes a write.
func (k *Keeper) recall(t *tx, q *query, a *Attempt) (answer Operation, writes bool, err error) {
	s, o, err := t.find(q)
	if err != nil {
		return Operation{}, false, err
	}
	if o == nil {
		return Operation{}, true, nil
	}
	known := o.public(q.ref(), t.now, t.wall)
	if err := t.expired(s, o, q, known); err != nil {
		return Operation{}, false, err
	}
	if !o.fingerprint.IsZero() && o.fingerprint != a.Fingerprint {
		return Operation{}, false, q.refuse(ErrMismatch, "it was begun with another")
	}
	switch {
	case !o.open():
		known.Replayed = true
		known.Result, err = t.result(s, q.name.text, o)
		return known, false, err
	case !o.overdue(t.now) && o.holder == a.Holder:
		return known, false, nil
	case !o.overdue(t.now):
		refusal := q.refuse(ErrInProgress, "another holder has it until %s", known.LeaseExpires.Format(time.RFC3339))
		refusal.RetryAfter = time.Duration(o.due-t.now) * time.Millisecond
		return Operation{}, false, refusal
	case !o.retry:
		return Operation{}, false, q.refuse(ErrOutcomeUnknown,
			"its lease ran out at %s; find out whether it was applied, and settle it", known.LeaseExpires.Format(time.RFC3339))
	}
	return Operation{}, true, nil
}

// begin decides an attempt, knowing all that came before it.
func (k *Keeper) begin(t *tx, q *query, a *Attempt) (Operation, error) {
	answer, writes, err := k.recall(t, q, a)
	if err != nil || !writes {
		return answer, err
	}
	s, o, err := t.find(q)
	if err != nil {
		return Operation{}, err
	}
	if o == nil {
		return k.create(t, q, s, a)
	}
	next := *o
	next.state, next.lapsed = Running, false
	next.holder, next.fence, next.due = a.Holder, o.fence+1, t.now+a.Lease.Milliseconds()
	return t.step(q, whatHanded, &next)
}

// create begins an operation that its scope does not hold; s is nil if there is no
// such scope either.
func (k *Keeper) create(t *tx, q *query, s *scope, a *Attempt) (Operation, error) {
	f, err := t.floorOf(s, q)
	if err != nil {
		return Operation{}, err
	}
	if err := k.fresh(t, s, q, f); err != nil {
		return Operation{}, err
	}
	if err := k.room(t, q, s, 1, uint64(len(q.name.text)), 1); err != nil {
		return Operation{}, err
	}
	if s, err = k.make(t, q, s); err != nil {
		return Operation{}, err
	}
	next := &op{
		state: Running, uid: q.uid, holder: a.Holder, fence: 1, fingerprint: a.Fingerprint,
		retry: a.Orphan == OrphanRetry, began: t.wall, due: t.now + a.Lease.Milliseconds(),
	}
	if q.name.floored() {
		other, err := k.fork(t, s, q)
		if err != nil {
			return Operation{}, err
		}
		next.forked = other != ""
		t.noteSeq(s, q.name)
	}
	return t.step(q, whatBegun, next, f.raise(q)...)
}

// maxAhead is how many epochs a name may be above the highest seen of its identity.
const maxAhead = 1 << 20

// floorOf returns what is known of the identity of a name; nil: nothing, or the name
// has no floor.
func (t *tx) floorOf(s *scope, q *query) (*floor, error) {
	if s == nil || !q.name.floored() {
		return nil, nil
	}
	f := &floor{}
	found, err := t.read(s.place.key(kindFloor, q.name.parsed.Identity().String()), f)
	if err != nil || !found {
		return nil, err
	}
	return f, nil
}

// fresh says why a name that its scope does not hold, with that floor, is not to be
// run.
func (k *Keeper) fresh(t *tx, s *scope, q *query, f *floor) error {
	if epoch := q.name.parsed.Epoch(); f != nil && epoch > f.highest+maxAhead {
		return invalid("name: epoch %d is more than %d above %d, the highest seen of its identity",
			epoch, maxAhead, f.highest)
	}
	return k.unseen(t, s, q, f)
}

// unseen says why the ledger cannot say that it never saw a name that its scope does
// not hold, with that floor.
func (k *Keeper) unseen(t *tx, s *scope, q *query, f *floor) error {
	if f != nil && f.under(q.name.parsed.Epoch(), q.name.parsed.Seq()) {
		return q.refuse(ErrExpired, "later names of its identity are forgotten already, so this one may be too, "+
			"or it was first sent so late: it is never run; a new operation takes a new name")
	}
	if !q.name.floored() && s != nil {
		hash := q.name.hash()
		stone := &tombstone{}
		found, err := t.read(s.place.key(kindTombstone, string(hash[:])), stone)
		if err != nil {
			return err
		}
		if found {
			return q.refuse(ErrExpired, "it ended, and is forgotten: it is not run again")
		}
	}
	if t.head.suspect && !k.claimedSince(q.name.parsed) {
		return q.refuse(ErrOutcomeUnknown, "the ledger was restored from a backup and may have known it; "+
			"settle it, or accept the ledger as it is")
	}
	return nil
}

// raise returns what to write of the identity of a name that was seen, of which f was
// known.
func (f *floor) raise(q *query) []item {
	if !q.name.floored() || f != nil && f.highest >= q.name.parsed.Epoch() {
		return nil
	}
	next := floor{uid: q.uid}
	if f != nil {
		next = *f
	}
	next.saw(q.name.parsed)
	return []item{{kind: kindFloor, key: q.name.parsed.Identity().String(), rec: &next}}
}
