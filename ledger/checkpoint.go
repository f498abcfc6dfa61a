package ledger

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/opmint/opmint/store"
)

// minLog is how many bytes of a chain are kept at least, and trimStep how many
// blocks are deleted in one step.
const (
	minLog   = uint64(1 << 20)
	trimStep = 16
)

// carriedKinds are what a checkpoint carries, in this order: what a record stands in
// comes before it.
var carriedKinds = []byte{kindScope, kindFloor, kindTombstone, kindOp}

// busy reports whether there is work to do for the chain's checkpoint, one being
// begun when there are least bytes besides twice what the last one took.
func (c *chain) busy(least uint64) bool {
	return c.trimming || c.next.number > 0 || c.bytes >= least+2*c.carried
}

// checkpoint does a step of the checkpoint of a chain whose log has grown long: it
// marks a place in the chain, carries what is there and still is to the end of the
// log, bit by bit, and then deletes what is before the mark.
func (k *Keeper) checkpoint(ctx context.Context) (more bool, err error) {
	owner, ok := k.busyChain()
	if !ok {
		return false, nil
	}
	more, err = k.background(ctx, 8*stepItems, func(t *tx) (bool, error) {
		c, err := t.chain(owner)
		if err != nil {
			return false, err
		}
		if !c.busy(k.minLog) {
			k.restChain(owner)
			return false, nil
		}
		t.change(ownerKey(kindChain, owner))
		switch {
		case c.trimming:
			err = t.trim(owner, c)
		case c.next.number == 0:
			prev := c.last.hash
			if err = t.emitMark(owner, whatCheckpoint, 0); err == nil {
				c.next = mark{number: c.last.number, hash: prev}
				c.copied, c.cursor = 0, ownerKey(carriedKinds[0], owner)
			}
		default:
			err = t.carry(owner, c)
		}
		return true, err
	})
	return more, err
}

// hasten goes on with a checkpoint that is under way, by so many records.
func (t *tx) hasten(owner uint32, budget int) error {
	c, err := t.chain(owner)
	if err == nil && c.trimming {
		return t.trim(owner, c)
	}
	for ; err == nil && c.next.number > 0 && budget > 0 && !t.full(); budget -= stepItems {
		err = t.carry(owner, c)
	}
	return err
}

// emitMark emits an event about the ledger as a whole.
func (t *tx) emitMark(owner uint32, w what, by uint64) error {
	return t.emit(owner, &event{what: w, by: by, suspect: owner == sharedOwner && t.head.suspect})
}

// trim deletes blocks of the log from before the last checkpoint.
func (t *tx) trim(owner uint32, c *chain) error {
	records, err := t.store.Scan(t.ctx, []byte(ownerKey(kindLog, owner)), nil, trimStep)
	if err != nil {
		return err
	}
	for _, r := range records {
		if logNumber(r.Key) >= c.base.number {
			c.trimming = false
			return nil
		}
		if _, gone := t.values[string(r.Key)]; gone {
			continue // by another step in the same commit
		}
		t.remove(string(r.Key))
		c.bytes -= uint64(len(r.Key) + len(r.Value))
		t.head.logBytes -= uint64(len(r.Key) + len(r.Value))
	}
	return nil
}

// carry adds the next records to the end of the log, or says that all are there.
func (t *tx) carry(owner uint32, c *chain) error {
	for i, kind := range carriedKinds {
		if c.cursor[0] != kind {
			continue
		}
		records, err := t.store.Scan(t.ctx, []byte(ownerKey(kind, owner)), []byte(c.cursor), stepItems)
		if err != nil {
			return err
		}
		if len(records) > 0 {
			err = t.carryRecords(owner, kind, records)
			c.cursor = string(records[len(records)-1].Key)
			return err
		}
		if i+1 < len(carriedKinds) {
			c.cursor = ownerKey(carriedKinds[i+1], owner)
			return nil
		}
	}
	if err := t.emitMark(owner, whatComplete, 0); err != nil {
		return err
	}
	c.base, c.next, c.carried, c.cursor, c.trimming = c.next, mark{}, c.copied, "", true
	return nil
}

// carryRecords adds records to the log as they are, as one event for each scope.
func (t *tx) carryRecords(owner uint32, kind byte, records []store.Record) error {
	var e *event
	for _, r := range records {
		key := string(r.Key)
		i, scope, err := t.carried(kind, key)
		if err != nil {
			return err
		}
		if i.rec == nil {
			continue
		}
		if e == nil || e.scope != scope {
			if e != nil {
				if err := t.emit(owner, e); err != nil {
					return err
				}
			}
			e = &event{what: whatCarried, scope: scope}
		}
		e.items = append(e.items, i)
	}
	if e == nil {
		return nil
	}
	return t.emit(owner, e)
}

// carried returns a record as an item, and the scope it is in; without a record if
// it is gone.
func (t *tx) carried(kind byte, key string) (i item, scope string, err error) {
	if kind == kindScope {
		s, err := t.scope(binary.BigEndian.Uint32([]byte(key[atOwner:])), key[atOwner+4:])
		if err != nil || s == nil {
			return item{}, "", err
		}
		return item{kind: kind, rec: s.setting()}, s.name, nil
	}
	name, err := t.get(key[:0] + string([]byte{kindPlace}) + key[atOwner:atName])
	if err != nil {
		return item{}, "", err
	}
	if len(name) == 0 {
		return item{}, "", fmt.Errorf("%w: record %q is in no scope", store.ErrDamaged, key)
	}
	r := newRecord(kind)
	found, err := t.read(key, r)
	if err != nil || !found {
		return item{}, "", err
	}
	return item{kind: kind, key: key[atName:], rec: r}, string(name), nil
}

func (s *scope) setting() *setting {
	return &setting{id: s.place.scope, uid: s.uid, horizon: s.horizon, cut: s.cut}
}
