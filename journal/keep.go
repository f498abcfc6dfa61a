package journal

import (
	"context"
	"fmt"
	"time"
)

// How intents are forgotten: in steps of so many, and how long there is between
// two steps when nothing is left to do.
const (
	keepStep = 256
	keepMin  = time.Second
	keepMax  = 10 * time.Minute
)

// Keep forgets what is due, in small steps, and keeps the journal's time, until ctx
// ends, when it returns nil, or an error of the store. It is run once at a time,
// and beside the other methods.
func (in *Intents) Keep(ctx context.Context) error {
	for {
		wait, err := in.keep(ctx)
		if ctx.Err() != nil {
			return in.keepTime(ctx)
		}
		if err != nil {
			return fmt.Errorf("forget intents: %w", err)
		}
		if wait == 0 {
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// keepTime writes down how far the journal's time is.
func (in *Intents) keepTime(ctx context.Context) error {
	ctx, cancel := settling(ctx)
	defer cancel()
	if err := in.batcher.commit(ctx, func(s *step) error { return in.saveTime(s) }); err != nil {
		return fmt.Errorf("keep the journal's time: %w", err)
	}
	return nil
}

func (in *Intents) saveTime(s *step) error {
	return s.put(clockKey, &clockRecord{Time: in.clock.now(), Wall: in.journal.time()})
}

// keep takes a step, and returns when the next is to be taken.
func (in *Intents) keep(ctx context.Context) (wait time.Duration, err error) {
	err = in.batcher.commit(ctx, func(s *step) (err error) {
		p := purge{Intents: in, step: s, left: keepStep}
		if wait, err = p.run(ctx); err != nil {
			return err
		}
		return in.saveTime(s)
	})
	return wait, err
}

// purge is a step that forgets.
type purge struct {
	*Intents
	step *step
	left int // what it may still forget
}

// run forgets what is due, the oldest first.
func (p *purge) run(ctx context.Context) (wait time.Duration, err error) {
	now := p.clock.now()
	records, err := p.journal.store.Scan(ctx, []byte(duePrefix), nil, keepStep)
	if err != nil {
		return 0, err
	}
	for _, r := range records {
		at, key, err := readDueKey(string(r.Key))
		if err != nil {
			return 0, err
		}
		if p.left <= 0 {
			return 0, nil
		}
		if at > now {
			return max(keepMin, time.Duration(min(at-now, millis(keepMax)))*time.Millisecond), nil
		}
		p.left--
		p.step.set(string(r.Key), nil)
		if err := p.forget(ctx, key, at); err != nil {
			return 0, err
		}
	}
	if len(records) == 0 {
		return keepMax, nil
	}
	return 0, nil
}

// forget forgets the record at key, which is due since a time; unless it has
// changed since, and is not.
func (p *purge) forget(ctx context.Context, key string, due uint64) error {
	value, err := p.step.get(ctx, key)
	if err != nil || len(value) == 0 {
		return err
	}
	switch key[:len(intentPrefix)] {
	case intentPrefix:
		r, err := decodeIntent(key, value)
		if err != nil || r.expires != due {
			return err
		}
		p.bury(key, r.expires, r.retain)
		return p.uncount(ctx, p.step, ownerOf(key), counts{intents: 1})
	case tombstonePrefix:
		until, err := decodeTime(key, value)
		if err == nil && until == due {
			p.step.set(key, nil)
		}
		return err
	case streamPrefix:
		call := streaming{p.Intents, ownerOf(key), key[len(streamPrefix)+4:]}
		return p.forgetStream(ctx, &call, due)
	}
	return damaged(dueKey(due, key), "it is of no kind that is known")
}

// bury puts a tombstone in the place of a record, and returns until when it stands.
func (p *purge) bury(key string, expires, retain uint64) (until uint64) {
	tombstone := tombstoneKey(ownerOf(key), key)
	until = expires + tombstoneTimes*retain
	p.step.set(key, nil)
	p.step.set(tombstone, encodeTime(until))
	p.step.set(dueKey(until, tombstone), present)
	return until
}
