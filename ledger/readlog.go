package ledger

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/opmint/opmint/store"
)

const (
	maxLog      = 1000    // events of one answer
	maxLogBytes = 4 << 20 // of one chain in one answer, about
)

// Log returns events in the order of their numbers. ErrInvalid: the query is out of
// bounds.
func (k *Keeper) Log(ctx context.Context, q LogQuery) ([]Event, error) {
	if q.Limit < 1 || q.Limit > maxLog {
		return nil, invalid("log of %d events: must be 1 to %d", q.Limit, maxLog)
	}
	events, err := k.log(ctx, q)
	return events, unavailable(err)
}

func (k *Keeper) log(ctx context.Context, q LogQuery) ([]Event, error) {
	t := k.read(ctx)
	// What comes while the chains are read, one after the other, is not complete.
	if err := t.begin(); err != nil {
		return nil, err
	}
	until := t.head.events
	owners := []uint32{q.UID, sharedOwner}
	if q.All {
		var err error
		if owners, err = k.owners(ctx, q.After); err != nil {
			return nil, err
		}
	}
	var events []Event
	for _, owner := range owners {
		more, last, err := readChain(ctx, k.store, owner, q, until)
		if err != nil {
			return nil, err
		}
		until = min(until, last)
		events = append(events, more...)
		slices.SortFunc(events, func(a, b Event) int { return cmp.Compare(a.Number, b.Number) })
		events = slices.DeleteFunc(events, func(e Event) bool { return e.Number > until })
		if len(events) > q.Limit {
			events = events[:q.Limit]
			until = events[q.Limit-1].Number
		}
	}
	return events, nil
}

// owners returns whose chains have events after that number.
func (k *Keeper) owners(ctx context.Context, number uint64) (owners []uint32, err error) {
	return owners, eachChain(ctx, k.store, func(owner uint32, c *chain) error {
		if c.last.number > number {
			owners = append(owners, owner)
		}
		return nil
	})
}

// eachChain calls fn for each chain.
func eachChain(ctx context.Context, s store.Store, fn func(owner uint32, c *chain) error) error {
	for after := []byte(nil); ; {
		records, err := s.Scan(ctx, []byte{kindChain}, after, 1000)
		if err != nil || len(records) == 0 {
			return err
		}
		for _, r := range records {
			c := &chain{}
			if err := decode(r.Value, c); err != nil {
				return fmt.Errorf("record %q: %w", r.Key, err)
			}
			if err := fn(ownerOf(r.Key), c); err != nil {
				return err
			}
		}
		after = records[len(records)-1].Key
	}
}

// readChain returns events of a chain up to a number, and that number; a lower one
// if there are too many.
func readChain(ctx context.Context, s store.Store, owner uint32, q LogQuery, until uint64) ([]Event, uint64, error) {
	var events []Event
	size := 0
	for after := logKey(owner, q.After); ; {
		records, err := s.Scan(ctx, []byte(ownerKey(kindLog, owner)), []byte(after), 4)
		if err != nil || len(records) == 0 {
			return events, until, err
		}
		for _, r := range records {
			b := &block{}
			if err := decode(r.Value, b); err != nil {
				return nil, 0, fmt.Errorf("record %q: %w", r.Key, err)
			}
			err := b.each(owner, func(e *event, _ [32]byte, line []byte) error {
				if e.number > q.After && e.number <= until {
					events, size = append(events, Event{Number: e.number, Line: line}), size+len(line)
				}
				return nil
			})
			if err != nil {
				return nil, 0, fmt.Errorf("record %q: %w", r.Key, err)
			}
			if n := len(events); n > 0 && (n >= q.Limit || size >= maxLogBytes) {
				return events, events[n-1].Number, nil
			}
			after = string(r.Key)
		}
	}
}

// WaitLog returns once this Keeper has made an event, of whatever chain, with a number above
// after.
func (k *Keeper) WaitLog(ctx context.Context, after uint64) error {
	for {
		k.mu.Lock()
		events, news := k.events, k.news
		k.mu.Unlock()
		if events > after {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return fmt.Errorf("wait for events: %w", ctx.Err())
		}
	}
}

// Verifier checks lines of the log, in the order in which Log returns them. The
// zero Verifier is ready to use.
type Verifier struct {
	number uint64
	chains map[string]string // the hash of the last line of each
}

// Add checks the next line: that it is an event, that its number is above that of
// the line before, and that it follows the last one of its chain. The first line
// of a chain is taken as it is. The error says what does not fit.
func (v *Verifier) Add(line []byte) error {
	var e struct {
		Number      uint64
		Chain, Prev string
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("the line after event %d is no event: %w", v.number, err)
	}
	if e.Number <= v.number {
		return fmt.Errorf("event %d comes after event %d", e.Number, v.number)
	}
	if hash, known := v.chains[e.Chain]; known && hash != e.Prev {
		return fmt.Errorf("event %d does not follow the last one of chain %s: one of them is not what it was, "+
			"or events between them are missing", e.Number, e.Chain)
	}
	if v.chains == nil {
		v.chains = map[string]string{}
	}
	hash := hashLine(line)
	v.number, v.chains[e.Chain] = e.Number, hex.EncodeToString(hash[:])
	return nil
}
