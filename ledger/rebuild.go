package ledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/opmint/opmint/store"
)

// Rebuild makes, in an empty store, the ledger that is in from, out of its log alone:
// from the checkpoint of each chain and the events after it. It checks all hashes on
// the way; what does not fit is store.ErrDamaged. Only results are taken from the
// records, for the log has nothing of them but a SHA-256, which is compared.
//
// Nobody may write to either store meanwhile. See [Compare].
func Rebuild(ctx context.Context, from, to store.Store) error {
	r := &rebuilder{from: newTx(ctx, from), to: to}
	if err := r.rebuild(ctx); err != nil {
		return fmt.Errorf("rebuild ledger: %w", err)
	}
	return nil
}

type rebuilder struct {
	from *tx
	to   store.Store
	tx   *tx // what was not committed yet
}

// rebuiltOps is how many records one commit of Rebuild writes at most, about.
const rebuiltOps = 8192

func (r *rebuilder) rebuild(ctx context.Context) error {
	if err := r.from.begin(); err != nil {
		return err
	}
	if len(r.from.found) == 0 {
		return fmt.Errorf("%w: there is no ledger", store.ErrDamaged)
	}
	if err := r.next(); err != nil {
		return err
	}
	if len(r.tx.found) > 0 {
		return errors.New("the store to rebuild it in has one already")
	}
	err := eachChain(ctx, r.from.store, func(owner uint32, c *chain) error { return r.chain(owner, c) })
	if err != nil {
		return err
	}
	// What no event tells.
	was := r.from.head
	r.tx.head.id, r.tx.head.since, r.tx.head.events = was.id, was.since, was.events
	r.tx.now, r.tx.wall = was.time, was.wall
	return r.tx.commit()
}

// next begins another commit.
func (r *rebuilder) next() error {
	r.tx = newTx(r.from.ctx, r.to)
	return r.tx.begin()
}

// flush commits what there is, if it is much.
func (r *rebuilder) flush() error {
	if len(r.tx.values) < rebuiltOps {
		return nil
	}
	if err := r.tx.commit(); err != nil {
		return err
	}
	return r.next()
}

// chain replays a chain, and copies it.
func (r *rebuilder) chain(owner uint32, c *chain) error {
	p := replay{owner: owner, last: c.base}
	for after := []byte(nil); ; {
		records, err := r.from.store.Scan(r.from.ctx, []byte(ownerKey(kindLog, owner)), after, 16)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			break
		}
		for _, record := range records {
			if err := r.block(&p, c, record); err != nil {
				return fmt.Errorf("record %q: %w", record.Key, err)
			}
		}
		after = records[len(records)-1].Key
	}
	if c.last.number > 0 && p.last != c.last {
		return fmt.Errorf("%w: chain %s ends with event %d, and its log with %d", store.ErrDamaged,
			chainName(owner), c.last.number, p.last.number)
	}
	r.tx.putRecord(ownerKey(kindChain, owner), c)
	delete(r.tx.records, ownerKey(kindChain, owner))
	return r.flush()
}

// replay is how far a chain was replayed.
type replay struct {
	owner uint32
	last  mark // the last event and its hash; before the first one, that and the hash before it
	begun bool
}

// block replays a block of the log, unless a checkpoint has replaced it.
func (r *rebuilder) block(p *replay, c *chain, record store.Record) error {
	b := &block{}
	if err := decode(record.Value, b); err != nil {
		return err
	}
	r.tx.put(string(record.Key), record.Value)
	r.tx.head.logBytes += uint64(len(record.Key) + len(record.Value))
	if logNumber(record.Key) < c.base.number {
		return r.flush()
	}
	err := b.each(p.owner, func(e *event, prev [32]byte, line []byte) error {
		if prev != p.last.hash || p.begun && e.number <= p.last.number || !p.begun && e.number != p.last.number {
			return fmt.Errorf("%w: event %d does not follow event %d", store.ErrDamaged, e.number, p.last.number)
		}
		p.begun, p.last = true, mark{number: e.number, hash: hashLine(line)}
		if err := r.event(p, e); err != nil {
			return err
		}
		return r.flush()
	})
	return err
}

// event replays an event.
func (r *rebuilder) event(p *replay, e *event) error {
	r.tx.now = e.clock
	results := map[string][]byte{} // those that have a record of their own
	for _, i := range e.items {
		o, ok := i.rec.(*op)
		if !ok || !o.hasResult() {
			continue
		}
		key, data, err := r.result(p.owner, e.scope, i.key, o)
		switch {
		case err != nil:
			return err
		case len(data) > maxInline:
			results[key] = data
		case len(data) > 0:
			o.inline = data
		}
	}
	err := r.tx.apply(p.owner, e)
	if errors.Is(err, errNoScope) {
		// The checkpoint has not come to the scope yet. What the event tells of and is
		// still there then, it carries too.
		return nil
	}
	for key, data := range results {
		r.tx.put(key, data)
	}
	return err
}

// result returns the result of an operation and the key it belongs at, if the ledger
// still has it.
func (r *rebuilder) result(owner uint32, scope, text string, o *op) (key string, data []byte, err error) {
	s, now, err := r.from.find(&query{owner: owner, scope: scope, name: name{text: text}})
	if err != nil || now == nil || now.digest != o.digest {
		return "", nil, err
	}
	result, err := r.from.result(s, text, now)
	if err != nil {
		return "", nil, err
	}
	data = encode(&stored{*result})
	if digest := sha256.Sum256(data); !result.BodyOmitted && digest != o.digest {
		return "", nil, fmt.Errorf("%w: the result of %s in scope %s is not what the log says", store.ErrDamaged, text, scope)
	}
	return s.place.key(kindResult, text), data, nil
}
