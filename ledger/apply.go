package ledger

import (
	"errors"
	"fmt"

	"github.com/opmint/opmint/store"
)

// errNoScope says that an event is in a scope that was never made, or that its log has
// not come to yet.
var errNoScope = errors.New("there is no scope")

// apply makes the records of an owner what an event's items say, and with them all
// that follows from them: indexes, counts, accounts.
func (t *tx) apply(owner uint32, e *event) error {
	if e.scope == "" {
		if owner == sharedOwner {
			t.head.suspect = e.suspect
		}
		return nil
	}
	for _, i := range e.items {
		if set, ok := i.rec.(*setting); ok {
			if err := t.setScope(owner, e.scope, set); err != nil {
				return err
			}
			continue
		}
		s, err := t.scope(owner, e.scope)
		if err != nil {
			return err
		}
		if s == nil {
			return fmt.Errorf("%w: event %d: %w %q", store.ErrDamaged, e.number, errNoScope, e.scope)
		}
		if err := t.set(s, i); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) set(s *scope, i item) error {
	switch i.kind {
	case kindOp:
		next, _ := i.rec.(*op)
		return t.setOp(s, i.key, next, i.fresh)
	case kindFloor:
		next, _ := i.rec.(*floor)
		return t.setFloor(s, i.key, next)
	default:
		next, _ := i.rec.(*tombstone)
		return t.setTombstone(s, i.key, next)
	}
}

func (t *tx) setScope(owner uint32, name string, set *setting) error {
	key := scopeKey(owner, name)
	s, err := t.scope(owner, name)
	if err != nil {
		return err
	}
	if s == nil {
		s = &scope{place: place{owner: owner, scope: set.id}, name: name, uid: set.uid}
		t.places[key], t.records[key] = s, s
		t.put(s.place.key(kindPlace, ""), []byte(name))
		t.head.scopes++
		if err := t.account(set.uid, func(a *account) { a.scopes++ }); err != nil {
			return err
		}
	}
	s.horizon, s.cut = set.horizon, set.cut
	t.change(key)
	if s.visit > 0 {
		t.visit(s, t.now)
	}
	return nil
}

// visit lets the scope be looked at for what is to be purged, at that time; 0:
// never.
func (t *tx) visit(s *scope, at int64) {
	at = min(at, maxMillis)
	from, to := "", ""
	if s.visit > 0 {
		from = s.place.timeKey(kindVisit, s.visit, "")
	}
	if at > 0 {
		to = s.place.timeKey(kindVisit, at, "")
	}
	t.move(from, to, []byte(s.name))
	s.visit = at
	t.change(scopeKey(s.place.owner, s.name))
}

// visitBy lets the scope be looked at by that time.
func (t *tx) visitBy(s *scope, at int64) {
	if s.visit == 0 || at < s.visit {
		t.visit(s, at)
	}
}

// setOp makes an operation what next is, or deletes it. Fresh says that there is none,
// for certain.
func (t *tx) setOp(s *scope, name string, next *op, fresh bool) error {
	var old *op
	if !fresh {
		var err error
		if old, err = t.op(s, name); err != nil {
			return err
		}
	}
	if old != nil {
		if err := t.count(s, old, old.bytes(name, len(encode(old))), false); err != nil {
			return err
		}
	}
	var value []byte
	if next != nil {
		value = encode(next)
		if err := t.count(s, next, next.bytes(name, len(value)), true); err != nil {
			return err
		}
		t.added += int(bit(old == nil, 0))
		if next.ends() {
			t.visitBy(s, next.due+s.horizon+slack)
		}
	}
	for _, i := range indexes {
		value := present
		if i.named {
			value = []byte(s.name)
		}
		t.move(i.key(s.place, name, old), i.key(s.place, name, next), value)
	}
	if old != nil && old.apart() && (next == nil || next.digest != old.digest) {
		t.remove(s.place.key(kindResult, name))
	}
	t.put(s.place.key(kindOp, name), value)
	return nil
}

// index says where an operation stands; "" is nowhere.
type index struct {
	key   func(p place, name string, o *op) string
	named bool // its entries have the scope's name
}

var indexes = []index{
	{func(p place, name string, o *op) string {
		if o == nil || o.state != Running {
			return ""
		}
		return p.timeKey(kindLease, o.due, name)
	}, true},
	{func(p place, name string, o *op) string {
		if o == nil || !o.ends() {
			return ""
		}
		return p.timedKey(kindEnd, o.due, name)
	}, false},
	{func(p place, name string, o *op) string {
		if o == nil || o.state != Unknown {
			return ""
		}
		return p.key(kindUnknown, name)
	}, false},
	{func(p place, name string, o *op) string {
		if o == nil || o.state != Unknown {
			return ""
		}
		return p.timeKey(kindSince, o.due, name)
	}, true},
}

// present is the value of what need not say more.
var present = []byte{version}

// setFloor makes a floor what next is; floors stay.
func (t *tx) setFloor(s *scope, identity string, next *floor) error {
	if next == nil {
		return fmt.Errorf("%w: the floor of %s in scope %q is deleted", store.ErrDamaged, identity, s.name)
	}
	key := s.place.key(kindFloor, identity)
	old := &floor{}
	found, err := t.read(key, old)
	if err != nil {
		return err
	}
	if !found {
		s.counts.Floors++
		t.head.counts.Floors++
		t.change(scopeKey(s.place.owner, s.name))
	}
	if !found || old.uid != next.uid {
		if found {
			if err := t.charge(old.uid, floorBytes, false); err != nil {
				return err
			}
		}
		if err := t.charge(next.uid, floorBytes, true); err != nil {
			return err
		}
	}
	t.putRecord(key, next)
	return nil
}

// setTombstone makes a tombstone what next is, or deletes it.
func (t *tx) setTombstone(s *scope, hash string, next *tombstone) error {
	key := s.place.key(kindTombstone, hash)
	old := &tombstone{}
	found, err := t.read(key, old)
	if err != nil {
		return err
	}
	from, to := "", ""
	if found {
		from = s.place.timedKey(kindBurial, old.made, hash)
		if err := t.bury(s, old.uid, false); err != nil {
			return err
		}
		t.remove(key)
	}
	if next != nil {
		to = s.place.timedKey(kindBurial, next.made, hash)
		if err := t.bury(s, next.uid, true); err != nil {
			return err
		}
		t.putRecord(key, next)
		t.visitBy(s, next.made+mourning*s.horizon)
	}
	t.move(from, to, present)
	return nil
}
