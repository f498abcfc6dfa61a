package journal

import (
	"context"
	"errors"
	"fmt"

	"github.com/opmint/opmint/store"
)

// edit is a change to the journal in the making: what it rests on, and what it
// will write.
type edit struct {
	store  store.Store
	checks []store.Check
	writes []store.Write
}

// edit lets fn read and write records and commits it all at once, if what fn
// read still stands; else it calls fn again. An error of fn commits nothing.
func (j *Journal) edit(ctx context.Context, fn func(e *edit) error) error {
	for {
		e := &edit{store: j.store}
		if err := fn(e); err != nil || len(e.writes) == 0 {
			return err
		}
		err := j.store.Commit(ctx, e.checks, e.writes)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// load reads the record at key into r, and reports whether there is one.
func (e *edit) load(ctx context.Context, key string, r record) (found bool, err error) {
	value, err := e.store.Get(ctx, []byte(key))
	if err != nil {
		return false, err
	}
	e.checks = append(e.checks, store.Check{Key: []byte(key), Value: value})
	if len(value) == 0 {
		return false, nil
	}
	if err := decode(value, r); err != nil {
		return false, fmt.Errorf("record %s: %w", key, err)
	}
	return true, nil
}

// need is load for a record that must be there.
func (e *edit) need(ctx context.Context, key string, r record) error {
	found, err := e.load(ctx, key, r)
	if err == nil && !found {
		return fmt.Errorf("%w: there is no record %s", store.ErrDamaged, key)
	}
	return err
}

// put writes r at key. A key is written once in an edit.
func (e *edit) put(key string, r record) error {
	value, err := encode(r)
	if err != nil {
		return fmt.Errorf("write record %s: %w", key, err)
	}
	e.writes = append(e.writes, store.Write{Key: []byte(key), Value: value})
	return nil
}

// remove deletes the record at key, if there is one.
func (e *edit) remove(key string) {
	e.writes = append(e.writes, store.Write{Key: []byte(key)})
}
