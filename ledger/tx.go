package ledger

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/opmint/opmint/store"
)

// tx is a change of the ledger in the making: records as they will be, over a store
// as it is. It is for one goroutine.
type tx struct {
	ctx   context.Context
	store store.Store
	now   int64 // the ledger's time
	wall  int64 // by the wall clock

	head    *head
	found   []byte            // the head as it is in the store; empty: there is none
	values  map[string][]byte // what is to be written; empty: deleted
	records map[string]record // what was read or made of the kinds that change often
	changed map[string]bool   // which of those are to be written
	places  map[string]*scope // by scopeKey
	seqs    map[string]string // tags of minted names that are to be written, by all before the tag
	logs    map[uint32][]*block
	dirty   bool   // there is something to commit
	forks   uint64 // seen
	added   int    // operations
	size    int    // bytes of what is to be written, about
	behind  bool   // more is to be purged than t does
}

// newTx returns a tx that reads, each record as it is by then.
func newTx(ctx context.Context, s store.Store) *tx { return &tx{ctx: ctx, store: s, head: &head{}} }

// begin reads the head, on which all changes rest, and makes t one that changes.
func (t *tx) begin() (err error) {
	t.values, t.records, t.changed = map[string][]byte{}, map[string]record{}, map[string]bool{}
	t.places, t.seqs, t.logs = map[string]*scope{}, map[string]string{}, map[uint32][]*block{}
	if t.found, err = t.store.Get(t.ctx, []byte(headKey)); err != nil || len(t.found) == 0 {
		return err
	}
	if err := decode(t.found, t.head); err != nil {
		return fmt.Errorf("record %q: %w", headKey, err)
	}
	return nil
}

// get returns a value as it will be.
func (t *tx) get(key string) ([]byte, error) {
	if value, ok := t.values[key]; ok {
		return value, nil
	}
	return t.store.Get(t.ctx, []byte(key))
}

// read reads a record as it will be into r, and reports whether there is one.
func (t *tx) read(key string, r record) (found bool, err error) {
	value, err := t.get(key)
	if err != nil || len(value) == 0 {
		return false, err
	}
	if err := decode(value, r); err != nil {
		return false, fmt.Errorf("record %q: %w", key, err)
	}
	return true, nil
}

func (t *tx) put(key string, value []byte) {
	t.values[key], t.dirty = value, true
	t.size += len(key) + len(value)
}

func (t *tx) putRecord(key string, r record) { t.put(key, encode(r)) }

func (t *tx) remove(key string) { t.put(key, nil) }

// move puts an entry of an index from one key to another; "" is none.
func (t *tx) move(from, to string, value []byte) {
	if from == to {
		return
	}
	if from != "" {
		t.remove(from)
	}
	if to != "" {
		t.put(to, value)
	}
}

// shared returns the record at key, of which there is one in the tx: what is
// changed in it is written if change is called with its key. It is empty if there
// is none in the store.
func shared[T any, P interface {
	*T
	record
}](t *tx, key string) (P, error) {
	if r, ok := t.records[key]; ok {
		return r.(P), nil
	}
	r := P(new(T))
	if _, err := t.read(key, r); err != nil {
		return nil, err
	}
	t.records[key] = r
	return r, nil
}

func (t *tx) change(key string) { t.changed[key], t.dirty = true, true }

// account changes what a uid uses up.
func (t *tx) account(uid uint32, change func(a *account)) error {
	key := ownerKey(kindAccount, uid)
	a, err := shared[account](t, key)
	if err == nil {
		change(a)
		t.change(key)
	}
	return err
}

// usage returns what a uid uses up.
func (t *tx) usage(uid uint32) (*account, error) {
	return shared[account](t, ownerKey(kindAccount, uid))
}

func (t *tx) chain(owner uint32) (*chain, error) { return shared[chain](t, ownerKey(kindChain, owner)) }

// scope returns a scope, or nil if there is none.
func (t *tx) scope(owner uint32, name string) (*scope, error) {
	key := scopeKey(owner, name)
	if s, ok := t.places[key]; ok {
		return s, nil
	}
	s := &scope{name: name, place: place{owner: owner}}
	found, err := t.read(key, s)
	if err != nil || !found {
		return nil, err
	}
	if t.places != nil {
		t.places[key], t.records[key] = s, s
	}
	return s, nil
}

// op returns an operation, or nil if there is none.
func (t *tx) op(s *scope, name string) (*op, error) {
	if s == nil {
		return nil, nil
	}
	o := &op{}
	found, err := t.read(s.place.key(kindOp, name), o)
	if err != nil || !found {
		return nil, err
	}
	return o, nil
}

// writes returns what is to be written, in the order of the keys, which is how a
// store writes it best.
func (t *tx) writes() []store.Write {
	t.writeLogs()
	for key := range t.changed {
		t.putRecord(key, t.records[key])
	}
	t.putRecord(headKey, t.head)
	writes := make([]store.Write, 0, len(t.values))
	for key, value := range t.values {
		writes = append(writes, store.Write{Key: []byte(key), Value: value})
	}
	slices.SortFunc(writes, func(a, b store.Write) int { return bytes.Compare(a.Key, b.Key) })
	return writes
}

// commit writes all, if the ledger is still as it was when t began.
func (t *tx) commit() error {
	t.head.time, t.head.wall = t.now, t.wall
	checks := []store.Check{{Key: []byte(headKey), Value: t.found}}
	return t.store.Commit(t.ctx, checks, t.writes())
}
