package journal

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/opmint/opmint/keygen"
)

// Numbered is an intent in a stream.
type Numbered struct {
	Stream, Intent string         // as they were asked for
	Edition        keygen.Edition // of the stream, now
	Seq            uint64         // of the intent in the stream
	Name           keygen.Name    // of class h, v or j
	Base           uint64         // the lowest number that is not acked
	Void           bool           // it is never to be run
	Replayed       bool           // it was known
}

// Edition is a stream as it stands.
type Edition struct {
	Stream  string         // as it was asked for
	Edition keygen.Edition // of the stream, now
	Base    uint64         // the lowest number that is not acked
}

// Number returns the number and the name of an intent in a stream: both are the
// same for everybody who asks. Numbers are dense from 0 on. They stay until they
// are acked and DefaultRetain, or the horizon, is over. Errors are those of
// [Intents.Name] but for ErrMismatch.
//
// An intent in a stream has nothing to do with one of the same text in another, or
// in none.
func (in *Intents) Number(ctx context.Context, uid uint32, stream, intent string) (Numbered, error) {
	if err := cmp.Or(ValidStream(stream), ValidIntent(intent)); err != nil {
		return Numbered{}, err
	}
	n := &numbering{streaming: streaming{in, uid, stream}, intent: intent}
	n.result = Numbered{Stream: stream, Intent: intent}
	done, err := n.recall(ctx, committed{in.journal.store})
	if err == nil && !done {
		err = in.batcher.commit(ctx, func(s *step) error { return n.enter(ctx, s) })
	}
	if err != nil {
		return Numbered{}, fmt.Errorf("number intent %.80q in stream %.80q: %w", intent, stream, err)
	}
	return n.result, nil
}

// streaming is a call that is about a stream.
type streaming struct {
	*Intents
	uid    uint32
	stream string
}

// numbering is a call of Number.
type numbering struct {
	streaming
	intent string
	minted keygen.Name // for this call, or zero
	result Numbered
}

// recall finds an intent that is known, and reports whether it is and the stream's
// edition still good.
func (n *numbering) recall(ctx context.Context, from reader) (done bool, err error) {
	item, st, err := n.find(ctx, from)
	if err != nil || item == nil {
		return false, err
	}
	now, err := n.now(ctx, from)
	n.tell(item, st)
	n.result.Replayed = true
	return err == nil && st.drawnUnder(now), err
}

// find returns an intent and its stream, or nothing if the intent is new.
func (n *numbering) find(ctx context.Context, from reader) (*itemRecord, *streamRecord, error) {
	key := itemKey(n.uid, n.stream, n.intent)
	value, err := from.get(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	if len(value) == 0 {
		return nil, nil, n.mourn(ctx, from, n.uid, key)
	}
	item, err := decodeItem(key, value)
	if err != nil {
		return nil, nil, err
	}
	st, err := n.load(ctx, from)
	if err != nil {
		return nil, nil, err
	}
	if item.number < st.Base && item.expires <= n.clock.now() {
		return nil, nil, forgotten()
	}
	return &item, st, nil
}

func (n *numbering) tell(item *itemRecord, st *streamRecord) {
	n.result.Edition, n.result.Base = st.Edition, st.Base
	n.result.Seq, n.result.Name, n.result.Void = item.number, item.name, item.void
}

// enter gives a new intent its number and its name, or the stream of a known one a
// new edition.
func (n *numbering) enter(ctx context.Context, s *step) error {
	item, st, err := n.find(ctx, s)
	if err != nil {
		return err
	}
	if n.result.Replayed = item != nil; item == nil {
		if err := n.admit(ctx, s, counts{intents: 1}); err != nil {
			return err
		}
		// Minting looks at the machine: what it notices has to be known before the
		// stream's edition is looked at.
		if err := n.mint(ctx, &n.minted); err != nil {
			return err
		}
	}
	now, err := n.now(ctx, s)
	if err != nil {
		return err
	}
	if item == nil {
		if item, st, err = n.append(ctx, s, now); err != nil {
			return err
		}
	} else if st.drawnUnder(now) {
		n.tell(item, st)
		return nil
	}
	if !st.drawnUnder(now) {
		if err := n.draw(st, now, max(now.epoch, st.Edition.Number()+1)); err != nil {
			return err
		}
	}
	n.tell(item, st)
	return s.put(streamKey(n.uid, n.stream), st)
}

// append adds a new item to the stream, which it begins if need be.
func (n *numbering) append(ctx context.Context, s *step, now circumstances) (*itemRecord, *streamRecord, error) {
	st, err := n.loadOrBegin(ctx, s, now)
	if err != nil {
		return nil, nil, err
	}
	retain := min(DefaultRetain, n.Horizon)
	item := &itemRecord{
		number: st.Next, name: n.minted,
		expires: n.clock.now() + millis(retain), retain: millis(retain),
	}
	if st.Floor == st.Next {
		st.schedule(s, streamKey(n.uid, n.stream), 0)
	}
	st.Next++
	s.set(itemKey(n.uid, n.stream, n.intent), item.encode())
	s.set(numberKey(n.uid, n.stream, item.number), []byte(n.intent))
	return item, st, nil
}

// NewEdition draws a new edition of a stream, which it begins if need be, above an
// edition that its receiver knows, which may be zero. Numbers stay what they are.
func (in *Intents) NewEdition(ctx context.Context, uid uint32, stream string, above keygen.Edition) (Edition, error) {
	if err := ValidStream(stream); err != nil {
		return Edition{}, err
	}
	call := streaming{in, uid, stream}
	result := Edition{Stream: stream}
	err := in.batcher.commit(ctx, func(s *step) error {
		if err := call.admit(ctx, s, counts{}); err != nil {
			return err
		}
		now, err := call.now(ctx, s)
		if err != nil {
			return err
		}
		st, err := call.loadOrBegin(ctx, s, now)
		if err != nil {
			return err
		}
		if err := call.draw(st, now, 1+max(now.epoch, above.Number(), st.Edition.Number())); err != nil {
			return err
		}
		result.Edition, result.Base = st.Edition, st.Base
		return s.put(streamKey(uid, stream), st)
	})
	if err != nil {
		return Edition{}, fmt.Errorf("draw an edition of stream %.80q: %w", stream, err)
	}
	return result, nil
}

func millis(d time.Duration) uint64 { return uint64(d / time.Millisecond) }
