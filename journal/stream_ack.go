package journal

import (
	"context"
	"fmt"

	"github.com/opmint/opmint/keygen"
)

// Void declares that a number of a stream is never to be run. Its receiver is to be
// told. ErrUnknown: it was never given; ErrExpired: it was acked before, so it may
// have been run.
func (in *Intents) Void(ctx context.Context, uid uint32, stream string, seq uint64) error {
	call := streaming{in, uid, stream}
	err := in.batcher.commit(ctx, func(s *step) error { return call.void(ctx, s, seq) })
	if err != nil {
		return fmt.Errorf("void number %d of stream %.80q: %w", seq, stream, err)
	}
	return nil
}

func (c *streaming) void(ctx context.Context, s *step, seq uint64) error {
	st, err := c.load(ctx, s)
	switch {
	case err != nil:
		return err
	case seq >= st.Next:
		return fmt.Errorf("%w: the first that was not given is %d", ErrUnknown, st.Next)
	case seq < st.Floor:
		return forgotten()
	}
	key, item, err := c.item(ctx, s, seq)
	if err != nil || item.void {
		return err
	}
	if seq < st.Base {
		return fmt.Errorf("%w: it was acked, and so it may have been carried out", ErrExpired)
	}
	item.void = true
	s.set(key, item.encode())
	return nil
}

// Acked moves up the base of a stream: the numbers below have ended at the
// receiver. One that is not above the base changes nothing. ErrUnknown: there is no
// such stream; keygen.ErrInvalid: numbers that were never given cannot have ended.
func (in *Intents) Acked(ctx context.Context, uid uint32, stream string, below uint64) error {
	call := streaming{in, uid, stream}
	err := in.batcher.commit(ctx, func(s *step) error {
		st, err := call.load(ctx, s)
		switch {
		case err != nil:
			return err
		case below > st.Next:
			return fmt.Errorf("%w: the first that was not given is %d", keygen.ErrInvalid, st.Next)
		case below <= st.Base:
			return nil
		}
		st.Base = below
		if err := call.reschedule(ctx, s, st); err != nil {
			return err
		}
		return s.put(streamKey(uid, stream), st)
	})
	if err != nil {
		return fmt.Errorf("ack the numbers below %d of stream %.80q: %w", below, stream, err)
	}
	return nil
}
