package journal

import (
	"context"
	"fmt"

	"github.com/opmint/opmint/store"
)

// reader is where records are read from: what is committed, or a step.
type reader interface {
	// get returns the value at key, and an empty one where there is none.
	get(ctx context.Context, key string) ([]byte, error)
}

// committed reads what is in the store.
type committed struct{ store.Store }

func (c committed) get(ctx context.Context, key string) ([]byte, error) {
	return c.Get(ctx, []byte(key))
}

// loadFrom reads the record at key into r, and reports whether there is one.
func loadFrom(ctx context.Context, from reader, key string, r record) (found bool, err error) {
	value, err := from.get(ctx, key)
	if err != nil || len(value) == 0 {
		return false, err
	}
	if err := decode(value, r); err != nil {
		return false, fmt.Errorf("record %.80q: %w", key, err)
	}
	return true, nil
}

// draft is the changes of many callers in the making, to be committed at once. It
// is made of steps, each of which sees what those before it have done.
type draft struct {
	store  store.Store
	values map[string]*draftValue
}

// draftValue is a value as it was read and as it will be.
type draftValue struct {
	read, now []byte
	wasRead   bool
	written   bool
}

func newDraft(s store.Store) *draft { return &draft{s, map[string]*draftValue{}} }

// step returns the next step, which changes nothing until it is taken.
func (d *draft) step() *step { return &step{draft: d, writes: map[string][]byte{}} }

func (d *draft) get(ctx context.Context, key string) ([]byte, error) {
	if v := d.values[key]; v != nil {
		return v.now, nil
	}
	value, err := d.store.Get(ctx, []byte(key))
	if err != nil {
		return nil, err
	}
	d.values[key] = &draftValue{read: value, now: value, wasRead: true}
	return value, nil
}

// commit commits all that was taken, if all that was read still stands.
func (d *draft) commit(ctx context.Context) error {
	var checks []store.Check
	var writes []store.Write
	for key, v := range d.values {
		if v.wasRead {
			checks = append(checks, store.Check{Key: []byte(key), Value: v.read})
		}
		if v.written {
			writes = append(writes, store.Write{Key: []byte(key), Value: v.now})
		}
	}
	if len(writes) == 0 {
		return nil
	}
	return d.store.Commit(ctx, checks, writes)
}

// step is what one caller changes in a draft.
type step struct {
	draft  *draft
	writes map[string][]byte
}

func (s *step) get(ctx context.Context, key string) ([]byte, error) {
	if value, ok := s.writes[key]; ok {
		return value, nil
	}
	return s.draft.get(ctx, key)
}

// assume saves reading a key again at which there was nothing: if there is something
// now, the commit finds out.
func (s *step) assume(key string) {
	if s.draft.values[key] == nil {
		s.draft.values[key] = &draftValue{wasRead: true}
	}
}

// set writes a value, and an empty one deletes. What was not read before is
// written whatever stands there.
func (s *step) set(key string, value []byte) { s.writes[key] = value }

// put writes a record that is JSON.
func (s *step) put(key string, r record) error {
	value, err := encode(r)
	if err != nil {
		return fmt.Errorf("write record %.80q: %w", key, err)
	}
	s.set(key, value)
	return nil
}

// take makes what the step has written part of the draft.
func (s *step) take() {
	for key, value := range s.writes {
		v := s.draft.values[key]
		if v == nil {
			v = &draftValue{}
			s.draft.values[key] = v
		}
		v.now, v.written = value, true
	}
}
