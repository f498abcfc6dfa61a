package ledger

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// view is the ledger as one user sees it.
type view struct {
	keeper *Keeper
	uid    uint32
}

var _ Ledger = (*view)(nil)

// owner returns whose the scope is that the user means.
func (v *view) owner(scope string) (uint32, error) {
	if v.uid == sharedOwner {
		return 0, invalid("uid %d is nobody's", v.uid)
	}
	if err := validScope(scope); err != nil {
		return 0, err
	}
	if strings.HasPrefix(scope, SharedPrefix) {
		return sharedOwner, nil
	}
	return v.uid, nil
}

// query checks a Ref.
func (v *view) query(r Ref) (query, error) {
	owner, err := v.owner(r.Scope)
	if err != nil {
		return query{}, err
	}
	n, err := parseName(r.Name)
	if err != nil {
		return query{}, err
	}
	return query{uid: v.uid, owner: owner, scope: strings.Clone(r.Scope), name: n}, nil
}

// read returns a tx that only reads: each record as it is by then.
func (k *Keeper) read(ctx context.Context) *tx {
	t := newTx(ctx, k.store)
	t.now, t.wall = k.time.now(0), k.time.wall()
	return t
}

// find returns the scope that is asked for and the operation in it, or nil for what
// there is none of.
func (t *tx) find(q *query) (*scope, *op, error) {
	s, err := t.scope(q.owner, q.scope)
	if err != nil || s == nil {
		return nil, nil, err
	}
	o, err := t.op(s, q.name.text)
	return s, o, err
}

// result returns an operation's result, or nil.
func (t *tx) result(s *scope, name string, o *op) (*Result, error) {
	if !o.hasResult() {
		return nil, nil
	}
	data := o.inline
	if o.apart() {
		var err error
		if data, err = t.get(s.place.key(kindResult, name)); err != nil {
			return nil, err
		}
	}
	r := &stored{}
	if err := decode(data, r); err != nil {
		return nil, fmt.Errorf("result of %s in scope %s: %w", name, s.name, err)
	}
	return &r.Result, nil
}

// expired says why an operation is not answered any more, though it is there.
func (t *tx) expired(s *scope, o *op, q *query, known Operation) error {
	if !o.ends() || o.due > s.expired(t.now) {
		return nil
	}
	refusal := q.refuse(ErrExpired, "it ended at %s, and the scope remembers for %v: it is not run again",
		known.Ended.Format(time.RFC3339), time.Duration(s.horizon)*time.Millisecond)
	refusal.Operation = &known
	return refusal
}

// step makes an operation what next is, in an event with what else it brings, and
// returns it for its caller.
func (t *tx) step(q *query, w what, next *op, also ...item) (Operation, error) {
	items := append([]item{{kind: kindOp, key: q.name.text, rec: next}}, also...)
	err := t.emit(q.owner, &event{what: w, by: 1 + uint64(q.uid), scope: q.scope, items: items})
	return next.public(q.ref(), t.now, t.wall), err
}

// make makes the scope that is asked for if s is nil.
func (k *Keeper) make(t *tx, q *query, s *scope) (*scope, error) {
	if s != nil {
		return s, nil
	}
	return t.makeScope(q.uid, q.owner, q.scope, k.horizon)
}

func (t *tx) makeScope(uid, owner uint32, name string, horizon int64) (*scope, error) {
	c, err := t.chain(owner)
	if err != nil {
		return nil, err
	}
	c.scopes++
	set := &setting{id: uint32(c.scopes), uid: uid, horizon: horizon}
	err = t.emit(owner, &event{
		what: whatScope, by: 1 + uint64(uid), scope: name, items: []item{{kind: kindScope, rec: set}},
	})
	if err != nil {
		return nil, err
	}
	return t.scope(owner, name)
}

// room says why a user cannot put more operations into a scope, with so many bytes of
// names, of which some would be running; s is nil if the scope would be made first.
func (k *Keeper) room(t *tx, q *query, s *scope, ops int, names, running uint64) error {
	used, err := t.usage(q.uid)
	if err != nil {
		return err
	}
	l := &k.limits
	if s == nil {
		if err := k.roomForScope(q, used); err != nil {
			return err
		}
	}
	bytes := uint64(ops)*(opBytes+floorBytes+256) + 2*names
	switch {
	case running > 0 && used.running+running > l.Running:
		return q.full(time.Second, "has %d operations running, which is all it may", used.running)
	case used.unknown >= l.Unknown:
		return q.full(time.Minute, "has %d operations of unknown outcome: settle them", used.unknown)
	case used.bytes+bytes > l.Bytes:
		return q.full(time.Minute, "has %d bytes stored, and may have %d", used.bytes, l.Bytes)
	}
	return nil
}
