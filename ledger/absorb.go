package ledger

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/opmint/opmint/keygen"
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
	fresh    []int  // items that are to be taken
	vacant   []bool // items of which the scope holds no fork either
	floors   map[keygen.Identity]*absorbedFloor
}

// absorbedFloor is what an Absorb knows of an identity.
type absorbedFloor struct {
	now     *floor // nil: nothing
	changed bool
}

// absorb decides all names, and then takes the fresh ones.
func (k *Keeper) absorb(t *tx, a *absorption) error {
	s, err := t.scope(a.q.owner, a.q.scope)
	if err != nil {
		return err
	}
	size, err := k.decide(t, s, a)
	if err != nil || len(a.fresh) == 0 {
		return err
	}
	if err := k.room(t, &a.q, s, len(a.fresh), size, 0); err != nil {
		return err
	}
	if s, err = k.make(t, &a.q, s); err != nil {
		return err
	}
	for chunk := range slices.Chunk(a.fresh, maxItems) {
		if err := k.take(t, s, a, chunk); err != nil {
			return err
		}
	}
	return nil
}

// decide says what each name was before, and which are fresh; and returns the bytes of
// those.
func (k *Keeper) decide(t *tx, s *scope, a *absorption) (size uint64, err error) {
	a.verdicts, a.vacant, a.fresh = make([]Verdict, len(a.items)), make([]bool, len(a.items)), nil
	a.floors = map[keygen.Identity]*absorbedFloor{}
	taken := make(map[string]int, len(a.names))
	for i, n := range a.names {
		a.q.name = n
		if first, again := taken[n.text]; again {
			a.verdicts[i] = seen(a.items[first].Fingerprint, a.items[i].Fingerprint)
			continue
		}
		if a.verdicts[i], err = k.absorbed(t, s, a, i); err != nil {
			return 0, err
		}
		if a.verdicts[i] == VerdictFresh {
			taken[n.text] = i
			a.fresh = append(a.fresh, i)
			size += uint64(len(n.text))
		}
	}
	return size, nil
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
	var err error
	if s != nil && a.names[i].floored() {
		if a.vacant[i], err = t.vacant(s, a.names[i]); err != nil {
			return "", err
		}
	}
	if a.vacant[i] {
		return k.unabsorbed(t, s, a, i)
	}
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
	identity := a.names[i].parsed.Identity()
	f := a.floors[identity]
	if f == nil {
		now, err := t.floorOf(s, &a.q)
		if err != nil {
			return "", err
		}
		f = &absorbedFloor{now: now}
		a.floors[identity] = f
	}
	verdict, err := verdictOf(k.fresh(t, s, &a.q, f.now), i)
	if verdict == VerdictFresh {
		for _, raised := range f.now.raise(&a.q) {
			f.now, f.changed = raised.rec.(*floor), true
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
	e := &event{what: whatAbsorbed, by: 1 + uint64(a.q.uid), scope: s.name, items: make([]item, 0, len(fresh)+4)}
	for _, i := range fresh {
		n := a.names[i]
		o := &op{
			state: Applied, uid: a.q.uid, fingerprint: a.items[i].Fingerprint, began: t.wall, ended: t.wall, due: t.now,
		}
		e.items = append(e.items, item{kind: kindOp, key: n.text, rec: o, fresh: true})
		if !n.floored() {
			continue
		}
		if !a.vacant[i] || t.seqs[s.place.key(kindOp, n.text[:tagged])] != "" {
			other, err := k.fork(t, s, &query{uid: a.q.uid, owner: a.q.owner, scope: s.name, name: n})
			if err != nil {
				return err
			}
			o.forked = other != ""
			e.fork(other)
		}
		t.noteSeq(s, n)
	}
	for _, identity := range slices.SortedFunc(maps.Keys(a.floors), byText) {
		if f := a.floors[identity]; f.changed {
			e.items = append(e.items, item{kind: kindFloor, key: identity.String(), rec: f.now})
			f.changed = false
		}
	}
	return t.emit(a.q.owner, e)
}

func byText(a, b keygen.Identity) int { return strings.Compare(a.String(), b.String()) }

// fork marks an operation as forked that the event itself brings.
func (e *event) fork(name string) {
	for _, i := range e.items {
		if o, ok := i.rec.(*op); ok && i.key == name {
			o.forked = true
		}
	}
}
