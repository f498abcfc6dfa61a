package journal

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/opmint/opmint/store"
)

// Get returns what is known of an intent, and asks for nothing. It is ErrUnknown
// if there is none, ErrExpired if it was forgotten.
func (in *Intents) Get(ctx context.Context, uid uint32, intent string) (Intent, error) {
	from := committed{in.journal.store}
	r, found, err := in.find(ctx, from, uid, intent)
	var result Intent
	switch {
	case err == nil && found:
		result, err = in.tell(ctx, from, intent, &r)
		result.Replayed = true
	case err == nil:
		err = ErrUnknown
	}
	if err != nil {
		return Intent{}, fmt.Errorf("look up intent %.80q: %w", intent, err)
	}
	return result, nil
}

// Delete forgets an intent on its caller's word, at once and without a tombstone:
// asked for again it is a new one, with a new name. That is for an operation that
// is over and is to be done anew. ErrUnknown: there is none; ErrExpired: it was
// forgotten before, and stays so.
func (in *Intents) Delete(ctx context.Context, uid uint32, intent string) error {
	err := in.batcher.commit(ctx, func(s *step) error {
		r, found, err := in.find(ctx, s, uid, intent)
		if err != nil {
			return err
		}
		if !found {
			return ErrUnknown
		}
		key := intentKey(uid, intent)
		s.set(key, nil)
		s.set(dueKey(r.expires, key), nil)
		return in.uncount(ctx, s, uid, counts{intents: 1})
	})
	if err != nil {
		return fmt.Errorf("delete intent %.80q: %w", intent, err)
	}
	return nil
}

// find returns what is known of an intent, and whether it is. One that was
// forgotten is ErrExpired.
func (in *Intents) find(
	ctx context.Context, from reader, uid uint32, intent string,
) (r intentRecord, found bool, err error) {
	key := intentKey(uid, intent)
	value, err := from.get(ctx, key)
	if err != nil {
		return r, false, err
	}
	if len(value) == 0 {
		return r, false, in.mourn(ctx, from, uid, key)
	}
	if r, err = decodeIntent(key, value); err != nil {
		return r, false, err
	}
	if r.expires <= in.clock.now() {
		return r, false, forgotten()
	}
	return r, true, nil
}

// mourn returns ErrExpired if the record at key was forgotten and its tombstone
// stands.
func (in *Intents) mourn(ctx context.Context, from reader, uid uint32, key string) error {
	tombstone := tombstoneKey(uid, key)
	value, err := from.get(ctx, tombstone)
	if err != nil || len(value) == 0 {
		return err
	}
	until, err := decodeTime(tombstone, value)
	if err != nil || until <= in.clock.now() {
		return err
	}
	return forgotten()
}

func forgotten() error {
	return fmt.Errorf("%w: it was named, and is forgotten: what it stood for may have been carried out; "+
		"if not, name it by another intent", ErrExpired)
}

// tell returns an intent as it is told.
func (in *Intents) tell(ctx context.Context, from reader, intent string, r *intentRecord) (Intent, error) {
	h, err := in.head(ctx, from)
	if err != nil {
		return Intent{}, err
	}
	return Intent{
		Intent: intent, Name: r.name, Fingerprint: r.fingerprint, Since: h.Since,
		Created: r.created, Expires: r.created.Add(time.Duration(r.retain) * time.Millisecond),
	}, nil
}

// knownHead is the journal's head and how it was spelled.
type knownHead struct {
	spelled []byte
	head    head
}

// head returns the journal's head. It is read each time, and decoded when it has
// changed.
func (in *Intents) head(ctx context.Context, from reader) (*head, error) {
	value, err := from.get(ctx, headKey)
	if err != nil {
		return nil, err
	}
	if known := in.known.Load(); known != nil && bytes.Equal(known.spelled, value) {
		return &known.head, nil
	}
	known := &knownHead{spelled: value}
	if len(value) == 0 {
		return nil, fmt.Errorf("%w: there is no record %s", store.ErrDamaged, headKey)
	}
	if err := decode(value, &known.head); err != nil {
		return nil, fmt.Errorf("record %s: %w", headKey, err)
	}
	in.known.Store(known)
	return &known.head, nil
}

// count adds to what a user has, and is ErrQuota if that would be too much.
func (in *Intents) count(ctx context.Context, s *step, uid uint32, more counts) error {
	key := countsKey(uid)
	value, err := s.get(ctx, key)
	if err != nil {
		return err
	}
	c, err := decodeCounts(key, value)
	c.intents += more.intents
	c.streams += more.streams
	switch {
	case err != nil:
		return err
	case c.intents > in.MaxIntents:
		return fmt.Errorf("%w: user %d can have %d intents: delete some that are done with, or retain them for less time",
			ErrQuota, uid, in.MaxIntents)
	case c.streams > in.MaxStreams:
		return fmt.Errorf("%w: user %d can have %d streams", ErrQuota, uid, in.MaxStreams)
	}
	s.set(key, c.encode())
	return nil
}

// uncount takes from what a user has.
func (in *Intents) uncount(ctx context.Context, s *step, uid uint32, fewer counts) error {
	key := countsKey(uid)
	value, err := s.get(ctx, key)
	if err != nil {
		return err
	}
	c, err := decodeCounts(key, value)
	if err != nil {
		return err
	}
	if c.intents < fewer.intents || c.streams < fewer.streams {
		return damaged(key, fmt.Sprintf("%+v, and %+v of them are forgotten", c, fewer))
	}
	c.intents -= fewer.intents
	c.streams -= fewer.streams
	s.set(key, c.encode())
	return nil
}
