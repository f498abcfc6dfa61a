package ledger

import (
	"context"
	"maps"
	"slices"

	"github.com/opmint/opmint/store"
)

// purge forgets operations whose time has come, of one scope, and drops old
// tombstones.
func (k *Keeper) purge(ctx context.Context) (more bool, err error) {
	if due, err := k.read(ctx).due(kindVisit); err != nil || !due {
		return false, unavailable(err)
	}
	budget := stepItems
	if k.behind.Load() {
		budget = 8 * purgeItems
	}
	return k.background(ctx, purgeOps*budget, func(t *tx) (bool, error) { return t.sweep(budget) })
}

const (
	purgeItems = 500 // operations that one event purges at most

	// purgeOps is how many records go or come with an operation that is purged, at most:
	// itself, its entry in an index, its result, a tombstone and its entry, an account.
	purgeOps = 6
)

// full reports whether a commit may have no room for one more event that purges.
func (t *tx) full() bool {
	return len(t.values)+len(t.changed)+purgeOps*purgeItems+64 > store.MaxOps || t.size > commitSize
}

// keepUp purges twice as many operations as t adds, if that many are due, and carries
// as many to the checkpoints under way: so neither what is to be purged nor the log piles
// up, however fast operations come.
func (t *tx) keepUp() error {
	if t.added == 0 {
		return nil
	}
	before := t.head.events
	_, err := t.sweep(2 * t.added)
	for owner := range t.logs {
		if err == nil {
			err = t.hasten(owner, 2*t.added)
		}
	}
	if t.head.events == before {
		return nil // Step will meet the error again; those who wait are none the worse.
	}
	return err
}

// sweep purges up to budget operations and tombstones of the scope whose turn it is.
func (t *tx) sweep(budget int) (more bool, err error) {
	records, err := t.store.Scan(t.ctx, []byte{kindVisit}, nil, 1)
	if err != nil || len(records) == 0 {
		return false, err
	}
	at, p := timeOf(records[0].Key)
	if at > t.now {
		return false, nil
	}
	s, err := t.scope(p.owner, string(records[0].Value))
	if err != nil || s == nil || s.visit != at {
		return false, err
	}
	return true, t.purge(s, budget)
}

// purge forgets up to budget operations and tombstones of a scope, as long as there is
// room, and says when to come again.
func (t *tx) purge(s *scope, budget int) error {
	until := s.expired(t.now) - slack
	ended, nextEnd, err := t.before(s.place.key(kindEnd, ""), until, budget)
	if err != nil {
		return err
	}
	for names := range slices.Chunk(ended, purgeItems) {
		if t.full() {
			nextEnd = until
			break
		}
		if err := t.forget(s, names); err != nil {
			return err
		}
	}
	until = t.now - mourning*s.horizon
	stones, nextStone, err := t.before(s.place.key(kindBurial, ""), until, budget-len(ended))
	if err != nil {
		return err
	}
	for hashes := range slices.Chunk(stones, purgeItems) {
		if t.full() {
			nextStone = until
			break
		}
		if err := t.drop(s, hashes); err != nil {
			return err
		}
	}
	again := t.next(s, nextEnd, nextStone)
	t.behind = again > 0 && again <= t.now
	t.visit(s, again)
	return nil
}

// drop drops tombstones, as one event.
func (t *tx) drop(s *scope, hashes []string) error {
	e := &event{what: whatDropped, scope: s.name}
	for _, hash := range hashes {
		e.items = append(e.items, item{kind: kindTombstone, key: hash})
	}
	return t.emit(s.place.owner, e)
}

// next returns when to look at a scope again, given the times of what the indexes
// have left; what this tx adds to them is of now.
func (t *tx) next(s *scope, end, stone int64) int64 {
	if end == 0 && s.counts.Applied+s.counts.Failed > 0 {
		end = t.now
	}
	if stone == 0 && s.counts.Tombstones > 0 {
		stone = t.now
	}
	at := int64(0)
	if end > 0 {
		at = end + s.horizon + slack
	}
	if stone > 0 && (at == 0 || stone+mourning*s.horizon < at) {
		at = stone + mourning*s.horizon
	}
	return at
}

// before returns what stands in an index of a scope up to a time, at most so much,
// and the time of what stands there next; 0: nothing.
func (t *tx) before(index string, until int64, most int) (found []string, next int64, err error) {
	after := index
	for {
		records, err := t.store.Scan(t.ctx, []byte(index), []byte(after), min(most-len(found), stepItems)+1)
		if err != nil || len(records) == 0 {
			return found, 0, err
		}
		for _, r := range records {
			if at := timedMillis(r.Key); at > until || len(found) == most {
				return found, at, nil
			}
			found, after = append(found, string(r.Key[atTimed:])), string(r.Key)
		}
	}
}

// forget purges operations, raises floors and leaves tombstones, as one event.
func (t *tx) forget(s *scope, names []string) error {
	e := &event{what: whatPurged, scope: s.name}
	floors, stones := map[string]*floor{}, map[string]*tombstone{}
	for _, text := range names {
		o, err := t.op(s, text)
		if err != nil {
			return err
		}
		if o == nil || !o.ends() {
			continue
		}
		n, err := parseName(text)
		if err != nil {
			return err
		}
		e.items = append(e.items, item{kind: kindOp, key: text})
		if !n.floored() {
			hash := n.hash()
			stones[string(hash[:])] = &tombstone{uid: o.uid, made: t.now}
			continue
		}
		if err := t.sink(s, n, o.uid, floors); err != nil {
			return err
		}
	}
	for _, identity := range slices.Sorted(maps.Keys(floors)) {
		e.items = append(e.items, item{kind: kindFloor, key: identity, rec: floors[identity]})
	}
	for _, hash := range slices.Sorted(maps.Keys(stones)) {
		e.items = append(e.items, item{kind: kindTombstone, key: hash, rec: stones[hash]})
	}
	if len(e.items) == 0 {
		return nil
	}
	return t.emit(s.place.owner, e)
}

// sink raises the floor of a name that is purged.
func (t *tx) sink(s *scope, n name, uid uint32, floors map[string]*floor) error {
	identity := n.parsed.Identity().String()
	f := floors[identity]
	if f == nil {
		var err error
		if f, err = t.floorOf(s, &query{name: n}); err != nil {
			return err
		}
		if f == nil {
			f = &floor{uid: uid}
		}
		floors[identity] = f
	}
	f.purge(n.parsed)
	return nil
}
