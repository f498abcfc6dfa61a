package ledger

import (
	"strconv"
)

// LogQuery says which events.
type LogQuery struct {
	UID   uint32 // whose: those of its private scopes and of all shared ones
	All   bool   // of everybody
	After uint64 // only events with a higher number; from 0
	Limit int    // at most so many, 1 to 1,000; there may be fewer, and only an empty answer is the end
}

// Event is a change of the ledger, as the log has it.
type Event struct {
	Number uint64 // from 1, over all chains: each event of the ledger has its own
	Line   []byte // the event as JSON, without a newline: what its hash is of
}

// maxBlock is how long a block of events becomes; only one event alone may be longer.
const maxBlock = 256 << 10

// block is a run of events of one chain, as it is stored.
type block struct {
	prev   [32]byte // the hash of the event before
	events []byte   // each with its length
	last   uint64   // the number of the last one
}

func (b *block) append(to []byte) []byte { return append(append(to, b.prev[:]...), b.events...) }

func (b *block) parse(p *parser) {
	p.fill(b.prev[:])
	b.events = p.rest()
}

// each calls fn for each event of the block, with the hash of the one before.
func (b *block) each(owner uint32, fn func(e *event, prev [32]byte, line []byte) error) error {
	prev := b.prev
	for p := (parser{data: b.events}); len(p.data) > 0; {
		e := &event{}
		data := p.take(int(p.uintTo(maxEvent)))
		if err := decode(data, e); err != nil {
			return err
		}
		line := e.line(owner, prev)
		if err := fn(e, prev, line); err != nil {
			return err
		}
		prev = hashLine(line)
	}
	return nil
}

// maxEvent bounds an event in bytes: one is never split.
const maxEvent = 1 << 20

// emit makes an event happen: it numbers it, applies it and adds it to the log.
func (t *tx) emit(owner uint32, e *event) error {
	c, err := t.chain(owner)
	if err != nil {
		return err
	}
	t.head.events++
	e.number, e.time, e.clock = t.head.events, t.wall, t.now
	if err := t.apply(owner, e); err != nil {
		return err
	}
	line := e.line(owner, c.last.hash)
	blocks := t.logs[owner]
	data := encodeLong(e, e.size())
	if len(blocks) == 0 || len(blocks[len(blocks)-1].events)+len(data) > maxBlock || e.what == whatCheckpoint {
		blocks = append(blocks, &block{prev: c.last.hash})
		t.logs[owner] = blocks
	}
	b := blocks[len(blocks)-1]
	b.events, b.last = appendText(b.events, data), e.number
	t.size += len(data)
	if e.what == whatCarried {
		c.copied += uint64(len(data))
	}
	if c.base.number == 0 {
		c.base.number = e.number
	}
	c.last = mark{number: e.number, hash: hashLine(line)}
	t.change(ownerKey(kindChain, owner))
	return nil
}

// writeLogs puts the blocks of events where they belong.
func (t *tx) writeLogs() {
	for owner, blocks := range t.logs {
		c := t.records[ownerKey(kindChain, owner)].(*chain)
		for _, b := range blocks {
			key := logKey(owner, b.last)
			t.put(key, encodeLong(b, len(b.events)+64))
			size := uint64(len(key) + len(t.values[key]))
			c.bytes += size
			t.head.logBytes += size
		}
	}
}

func chainName(owner uint32) string {
	if owner == sharedOwner {
		return "shared"
	}
	return strconv.FormatUint(uint64(owner), 10)
}
