package journal

import (
	"context"
	"fmt"

	"github.com/opmint/opmint/keygen"
)

// circumstances are what an edition is drawn under. Where they have changed, the
// journal may have gone back, and with it numbers of streams that were given.
type circumstances struct {
	identity keygen.Identity
	gone     uint64
	epoch    uint64
}

// now returns the circumstances of now.
func (in *Intents) now(ctx context.Context, from reader) (c circumstances, err error) {
	h, err := in.head(ctx, from)
	if err != nil {
		return c, err
	}
	class := in.Minter.Class()
	if c.identity, c.epoch, err = in.Minter.Epoch(); err != nil {
		return c, err
	}
	c.gone = h.Rollbacks[WhatJournal] + h.Rollbacks[WhatGeneration]
	if class != keygen.ClassH {
		// The only trace, it may be, of a machine that was restored.
		c.gone += h.Rollbacks[WhatClock]
	}
	return c, nil
}

func (r *streamRecord) drawnUnder(c circumstances) bool {
	return r.Identity == c.identity && r.Gone == c.gone
}

// draw gives a stream a new edition.
func (in *Intents) draw(st *streamRecord, now circumstances, number uint64) (err error) {
	if st.Edition, err = keygen.NewEdition(number, in.Random); err != nil {
		return err
	}
	st.Identity, st.Gone = now.identity, now.gone
	return nil
}

// load returns the stream, which is ErrUnknown if there is none.
func (c *streaming) load(ctx context.Context, from reader) (*streamRecord, error) {
	st := new(streamRecord)
	found, err := loadFrom(ctx, from, streamKey(c.uid, c.stream), st)
	if err == nil && !found {
		err = fmt.Errorf("%w: there is no such stream", ErrUnknown)
	}
	return st, err
}

// admit counts what is about to be added, the stream too if there is none yet.
func (c *streaming) admit(ctx context.Context, s *step, more counts) error {
	there, err := s.get(ctx, streamKey(c.uid, c.stream))
	if err != nil {
		return err
	}
	if len(there) == 0 {
		more.streams++
	}
	if more == (counts{}) {
		return nil
	}
	return c.count(ctx, s, c.uid, more)
}

// loadOrBegin returns the stream, a new one if there is none.
func (c *streaming) loadOrBegin(ctx context.Context, s *step, now circumstances) (*streamRecord, error) {
	key := streamKey(c.uid, c.stream)
	st := new(streamRecord)
	if found, err := loadFrom(ctx, s, key, st); err != nil || found {
		return st, err
	}
	var before editionsRecord
	if _, err := loadFrom(ctx, s, editionsKey, &before); err != nil {
		return nil, err
	}
	if err := c.draw(st, now, max(now.epoch, before.Highest+1)); err != nil {
		return nil, err
	}
	st.Until = c.clock.now() + tombstoneTimes*millis(min(DefaultRetain, c.Horizon))
	st.schedule(s, key, st.Until)
	return st, nil
}
