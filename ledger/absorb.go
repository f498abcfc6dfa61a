package ledger

import (
	"context"
	"errors"
	"maps"
	"slices"
)

// maxItems is how many operations one event tells of at most.
const maxItems = 1000

// Absorb implements Ledger.
func (v *view) Absorb(ctx context.Context, scope string, items []Item) ([]Verdict, error) {
	owner, err := v.owner(scope)
	if err != nil {
		return nil, err
	}
	if len(items) > MaxAbsorb {
		return nil, invalid("absorb %d names: at most %d", len(items), MaxAbsorb)
	}
	a := &absorption{
		q: query{uid: v.uid, owner: owner, scope: scope}, items: items, names: make([]name, len(items)),
	}
	size := 1024
	each := 320 + len(scope)
	for i, it := range items {
		if a.names[i], err = parseName(it.Name); err != nil {
			return nil, invalid("item %d: %w", i, err)
		}
		size += 3*len(it.Name) + each
	}
	err = v.keeper.do(ctx, &call{
		uid: v.uid, ops: 16 + 3*len(items), size: size,
		decide: func(t *tx) error { return v.keeper.absorb(t, a) },
	})
	if err != nil {
		return nil, err
	}
	return a.verdicts, nil
}

// absorption is an Absorb on its way.
type absorption struct {
	q        query
	items    []Item
	names    []name
	verdicts []Verdict
	floors   map[string]item // by identity, what they become
}

// absorb decides all names, and then takes the fresh ones.
func (k *Keeper) absorb(t *tx, a *absorption) error {
	s, err := t.scope(a.q.owner, a.q.scope)
	if err != nil {
		return err
	}
	a.verdicts, a.floors = make([]Verdict, len(a.items)), map[string]item{}
	taken := map[string]int{}
	var fresh []int
	size := uint64(0)
	for i, n := range a.names {
		a.q.name = n
		if first, again := taken[n.text]; again {
			a.verdicts[i] = seen(a.items[first].Fingerprint, a.items[i].Fingerprint)
			continue
		}
		if a.verdicts[i], err = k.absorbed(t, s, a, i); err != nil {
			return err
		}
		if a.verdicts[i] == VerdictFresh {
			taken[n.text] = i
			fresh = append(fresh, i)
			size += uint64(len(n.text))
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	if err := k.room(t, &a.q, s, len(fresh), size, 0); err != nil {
		return err
	}
	if s, err = k.make(t, &a.q, s); err != nil {
		return err
	}
	for chunk := range slices.Chunk(fresh, maxItems) {
		if err := k.take(t, s, a, chunk); err != nil {
			return err
		}
	}
	return nil
}

// seen compares a fingerprint with that of what is known.
func seen(known, now Fingerprint) Verdict {
	if !known.IsZero() && known != now {
		return VerdictMismatch
	}
	return VerdictSeen
}

// absorbed says what item i was before.
func (k *Keeper) absorbed(t *tx, s *scope, a *absorption, i int) (Verdict, error) {
	o, err := t.op(s, a.names[i].text)
	if err != nil {
		return "", err
	}
	if o == nil {
		return k.unabsorbed(t, s, a, i)
	}
	known := o.public(a.q.ref(), t.now, t.wall)
	if t.expired(s, o, &a.q, known) != nil {
		return VerdictExpired, nil
	}
	verdict := seen(o.fingerprint, a.items[i].Fingerprint)
	if verdict == VerdictSeen {
		verdict = map[State]Verdict{
			Running: VerdictRunning, Applied: VerdictSeen, Failed: VerdictFailed, Unknown: VerdictUnknown,
		}[known.State]
	}
	return verdict, nil
}

// unabsorbed says what item i was before, which is not there, and raises its floor.
func (k *Keeper) unabsorbed(t *tx, s *scope, a *absorption, i int) (Verdict, error) {
	identity := a.names[i].parsed.Identity().String()
	f, _ := a.floors[identity].rec.(*floor)
	if f == nil {
		var err error
		if f, err = t.floorOf(s, &a.q); err != nil {
			return "", err
		}
	}
	verdict, err := verdictOf(k.fresh(t, s, &a.q, f), i)
	if verdict == VerdictFresh {
		for _, raised := range f.raise(&a.q) {
			a.floors[identity] = raised
		}
	}
	return verdict, err
}

// verdictOf turns the refusal of a name that is not there into a verdict.
func verdictOf(err error, i int) (Verdict, error) {
	if err == nil {
		return VerdictFresh, nil
	}
	switch {
	case errors.Is(err, ErrExpired):
		return VerdictExpired, nil
	case errors.Is(err, ErrOutcomeUnknown):
		return VerdictUnknown, nil
	case errors.Is(err, ErrInvalid):
		return "", invalid("item %d: %w", i, err)
	}
	return "", err
}

// take absorbs items as one event.
func (k *Keeper) take(t *tx, s *scope, a *absorption, fresh []int) error {
	e := &event{what: whatAbsorbed, by: 1 + uint64(a.q.uid), scope: s.name}
	ops := map[string]*op{}
	for _, i := range fresh {
		n := a.names[i]
		o := &op{
			state: Applied, uid: a.q.uid, fingerprint: a.items[i].Fingerprint, began: t.wall, ended: t.wall, due: t.now,
		}
		e.items = append(e.items, item{kindOp, n.text, o})
		if !n.floored() {
			continue
		}
		other, err := k.fork(t, s, &query{uid: a.q.uid, owner: a.q.owner, scope: s.name, name: n})
		if err != nil {
			return err
		}
		if o.forked = other != ""; o.forked && ops[other] != nil {
			ops[other].forked = true
		}
		ops[n.text] = o
		t.noteSeq(s, n.text)
	}
	for _, identity := range slices.Sorted(maps.Keys(a.floors)) {
		e.items = append(e.items, a.floors[identity])
	}
	clear(a.floors)
	return t.emit(a.q.owner, e)
}
