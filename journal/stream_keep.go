package journal

import (
	"context"
	"fmt"
)

// schedule makes the stream at key due at a time, in place of any other; 0: never.
func (r *streamRecord) schedule(s *step, key string, at uint64) {
	if r.Due != 0 {
		s.set(dueKey(r.Due, key), nil)
	}
	if r.Due = at; at != 0 {
		s.set(dueKey(at, key), present)
	}
}

// reschedule makes a stream due when its lowest number can be forgotten, or, if all
// are, when it can be itself. One that has numbers, none of them acked, is not due.
func (c *streaming) reschedule(ctx context.Context, s *step, st *streamRecord) error {
	at := uint64(0)
	switch {
	case st.Floor < st.Base:
		_, item, err := c.item(ctx, s, st.Floor)
		if err != nil {
			return err
		}
		at = item.expires
	case st.Floor == st.Next:
		at = st.Until
	}
	st.schedule(s, streamKey(c.uid, c.stream), at)
	return nil
}

// item returns the item with a number that is not forgotten, and its key.
func (c *streaming) item(ctx context.Context, from reader, number uint64) (string, *itemRecord, error) {
	index := numberKey(c.uid, c.stream, number)
	intent, err := from.get(ctx, index)
	if err != nil {
		return "", nil, err
	}
	key := itemKey(c.uid, c.stream, string(intent))
	value, err := from.get(ctx, key)
	if err != nil {
		return "", nil, err
	}
	item, err := decodeItem(key, value)
	if err == nil && item.number != number {
		err = damaged(index, fmt.Sprintf("it leads to number %d", item.number))
	}
	return key, &item, err
}

// forgetStream forgets the numbers of a stream that are acked and whose time is
// over, and the stream itself if it has had none for long.
func (p *purge) forgetStream(ctx context.Context, c *streaming, due uint64) error {
	st, err := c.load(ctx, p.step)
	if err != nil || st.Due != due {
		return err
	}
	now, had := p.clock.now(), st.Floor
	for ; st.Floor < st.Base && p.left > 0; p.left-- {
		key, item, err := c.item(ctx, p.step, st.Floor)
		if err != nil {
			return err
		}
		if item.expires > now {
			break
		}
		st.Until = max(st.Until, p.bury(key, item.expires, item.retain))
		p.step.set(numberKey(c.uid, c.stream, st.Floor), nil)
		st.Floor++
	}
	if err := p.uncount(ctx, p.step, c.uid, counts{intents: st.Floor - had}); err != nil {
		return err
	}
	if st.Floor == st.Next && st.Until <= now {
		return p.endStream(ctx, c, st)
	}
	if err := c.reschedule(ctx, p.step, st); err != nil {
		return err
	}
	return p.step.put(streamKey(c.uid, c.stream), st)
}

// endStream forgets a stream.
func (p *purge) endStream(ctx context.Context, c *streaming, st *streamRecord) error {
	var editions editionsRecord
	if _, err := loadFrom(ctx, p.step, editionsKey, &editions); err != nil {
		return err
	}
	if n := st.Edition.Number(); n > editions.Highest {
		editions.Highest = n
		if err := p.step.put(editionsKey, &editions); err != nil {
			return err
		}
	}
	p.step.set(streamKey(c.uid, c.stream), nil)
	return p.uncount(ctx, p.step, c.uid, counts{streams: 1})
}
