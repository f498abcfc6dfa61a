package ledger

import (
	"crypto/sha256"
)

// what happened.
type what byte

// All kinds of event. The numbers are those of stored events.
const (
	whatScope      what = iota + 1 // a scope was made, or its horizon changed
	whatBegun                      // an operation
	whatHanded                     // to another holder, after the lease of the one before ran out
	whatExtended                   // its lease
	whatFinished                   // by its holder
	whatSettled                    // by an operator
	whatLapsed                     // its lease ran out
	whatForked                     // another name with its identity, epoch and seq came
	whatAbsorbed                   // names
	whatPurged                     // operations
	whatDropped                    // tombstones
	whatCheckpoint                 // from here on, the log holds all that its chain's ledger holds
	whatCarried                    // what was there at the checkpoint and still is
	whatComplete                   // all of that was carried: what is before the checkpoint can go
	whatSuspect                    // the ledger
	whatAccepted                   // a suspect ledger
)

var whatNames = [...]string{
	"", "scope", "begun", "handed", "extended", "finished", "settled", "lapsed", "forked", "absorbed",
	"purged", "dropped", "checkpoint", "carried", "complete", "suspect", "accepted",
}

// event is a change of the ledger. Its items say what records become, whatever
// they were before: so a log can be replayed over records that are newer than its
// beginning, which is what makes a checkpoint of a ledger in use.
type event struct {
	number  uint64
	what    what
	by      uint64 // 1 + the uid of who did it; 0: the ledger itself
	time    int64  // by the wall clock
	clock   int64  // by the ledger's time
	scope   string // "": it is about the ledger as a whole
	suspect bool   // what the ledger is from now on; in events about it as a whole
	items   []item
}

// item is what a record becomes.
type item struct {
	kind byte   // kindScope, kindOp, kindFloor, kindTombstone
	key  string // of place.key: an operation's name, an identity, a hash; "" for a scope
	rec  record // nil: it is deleted

	fresh bool // there was none, for certain; not in the log
}

func (e *event) append(b []byte) []byte {
	b = appendUints(append(b, byte(e.what)), e.number, e.by)
	b = appendText(appendMillis(b, e.time, e.clock), e.scope)
	b = appendUints(b, bit(e.suspect, 0))
	for _, i := range e.items {
		b = appendText(append(b, i.kind), i.key)
		var rec []byte
		switch r := i.rec.(type) {
		case nil:
		case *op:
			rec = encode(r.logged())
		default:
			rec = encode(r)
		}
		b = appendText(b, rec)
	}
	return b
}

// size returns about how long the event is in the log.
func (e *event) size() int {
	size := 64 + len(e.scope)
	for _, i := range e.items {
		size += len(i.key) + 128
	}
	return size
}

func (e *event) parse(p *parser) {
	if w := p.take(1); len(w) > 0 {
		e.what = what(w[0])
	}
	p.need(e.what >= whatScope && e.what <= whatAccepted)
	e.number, e.by = p.uint(), p.uintTo(1<<32)
	e.time, e.clock, e.scope = p.millis(), p.millis(), p.text(MaxScope)
	e.suspect = p.uintTo(1) > 0
	for len(p.data) > 0 {
		i := item{kind: p.take(1)[0], key: p.text(MaxName)}
		data := p.take(int(p.uintTo(uint64(len(p.data)))))
		i.rec = newRecord(i.kind)
		switch {
		case i.rec == nil:
			p.need(false)
		case len(data) == 0:
			i.rec = nil
		default:
			p.need(decode(data, i.rec) == nil)
		}
		e.items = append(e.items, i)
	}
}

// newRecord returns an empty record of a kind that can be in an item.
func newRecord(kind byte) record {
	switch kind {
	case kindScope:
		return &setting{}
	case kindOp:
		return &op{}
	case kindFloor:
		return &floor{}
	case kindTombstone:
		return &tombstone{}
	}
	return nil
}

// setting is what of a scope does not follow from what is in it.
type setting struct {
	id, uid      uint32
	horizon, cut int64
}

func (s *setting) append(b []byte) []byte {
	return appendMillis(appendUints(b, uint64(s.id), uint64(s.uid)), s.horizon, s.cut)
}

func (s *setting) parse(p *parser) {
	s.id, s.uid, s.horizon, s.cut = p.uid(), p.uid(), p.millis(), p.millis()
}

// line returns the event as JSON, which is what its hash is of.
func (e *event) line(owner uint32, prev [32]byte) []byte {
	j := jsonWriter{buf: make([]byte, 0, 256+400*len(e.items))}
	j.open('{')
	j.uint("number", e.number)
	j.text("chain", chainName(owner))
	j.time("time", e.time)
	j.uint("clock", uint64(e.clock))
	j.text("what", whatNames[e.what])
	if e.by > 0 {
		j.uint("uid", e.by-1)
	}
	if e.scope != "" {
		j.text("scope", e.scope)
	} else {
		j.flag("suspect", e.suspect)
	}
	e.writeItems(&j)
	j.hex("prev", prev[:])
	j.close('}')
	return j.buf
}

// writeItems writes what records become: one operation by itself, many as a list.
func (e *event) writeItems(j *jsonWriter) {
	single := e.what >= whatBegun && e.what <= whatForked
	list := byte(0)
	for _, i := range e.items {
		if single && i.kind == kindOp {
			j.text("name", i.key)
			j.key("operation")
			i.write(j, false)
			continue
		}
		if i.kind != list {
			if list != 0 {
				j.close(']')
			}
			list = i.kind
			j.key(listNames[list])
			j.open('[')
		}
		i.write(j, true)
	}
	if list != 0 {
		j.close(']')
	}
}

var listNames = map[byte]string{
	kindScope: "scopes", kindOp: "operations", kindFloor: "floors", kindTombstone: "tombstones",
}

// write writes the item as an object, named or not.
func (i *item) write(j *jsonWriter, named bool) {
	j.open('{')
	if named {
		i.writeKey(j)
	}
	switch r := i.rec.(type) {
	case *setting:
		j.uint("id", uint64(r.id))
		j.uint("uid", uint64(r.uid))
		j.uint("horizon_ms", uint64(r.horizon))
		j.uint("cut", uint64(r.cut))
	case *op:
		r.write(j)
	case *floor:
		j.uint("uid", uint64(r.uid))
		j.uint("highest", r.highest)
		if r.purged > 0 {
			j.uint("epoch", r.purged-1)
			j.uint("seq", r.seq)
		}
	case *tombstone:
		j.uint("uid", uint64(r.uid))
		j.uint("made", uint64(r.made))
	}
	j.close('}')
}

func (i *item) writeKey(j *jsonWriter) {
	switch i.kind {
	case kindOp:
		j.text("name", i.key)
	case kindFloor:
		j.text("identity", i.key)
	case kindTombstone:
		j.hex("hash", []byte(i.key))
	}
}

func hashLine(line []byte) [32]byte { return sha256.Sum256(line) }
