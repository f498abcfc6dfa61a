package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// maxInline is the most bytes of a result that stand in the operation's record.
// Larger ones have a record of their own, away from keys that change.
const maxInline = 512

// op is the record of an operation.
type op struct {
	state       State
	lapsed      bool // its lease ran out, and that is written down
	settled     bool
	forked      bool
	retry       bool // OrphanRetry
	uid         uint32
	fence       uint64
	holder      string
	fingerprint Fingerprint
	began       int64 // by the wall clock
	ended       int64 // likewise; 0: it has not
	// due is by the ledger's time: the end of the lease while it is running or lapsed,
	// else when it ended.
	due int64

	digest [32]byte // SHA-256 of the encoded result, its body included though it was not kept; zero: none
	size   uint64   // of the encoded result as it is kept
	inline []byte   // that, if it is small
}

// states are numbered in records.
var states = [...]State{Running, Applied, Failed, Unknown}

func (s State) number() uint64 {
	for i, state := range states {
		if s == state {
			return uint64(i)
		}
	}
	return uint64(len(states))
}

func (o *op) append(b []byte) []byte {
	flags := o.state.number() | bit(o.lapsed, 2) | bit(o.settled, 3) | bit(o.forked, 4) | bit(o.retry, 5) |
		bit(!o.fingerprint.IsZero(), 6) | bit(o.hasResult(), 7) | bit(o.inline != nil, 8)
	b = appendUints(b, flags, uint64(o.uid), o.fence)
	b = appendText(b, o.holder)
	b = appendMillis(b, o.began, o.ended, o.due)
	if !o.fingerprint.IsZero() {
		b = append(b, o.fingerprint[:]...)
	}
	if o.hasResult() {
		b = append(b, o.digest[:]...)
		b = binary.AppendUvarint(b, o.size)
	}
	return append(b, o.inline...)
}

func (o *op) parse(p *parser) {
	flags := p.uintTo(1<<9 - 1)
	flag := func(n int) bool { return flags&(1<<n) != 0 }
	o.state, o.lapsed, o.settled, o.forked, o.retry = states[flags&3], flag(2), flag(3), flag(4), flag(5)
	o.uid, o.fence, o.holder = p.uid(), p.uint(), p.text(MaxHolder)
	o.began, o.ended, o.due = p.millis(), p.millis(), p.millis()
	if flag(6) {
		p.fill(o.fingerprint[:])
		p.need(!o.fingerprint.IsZero())
	}
	if flag(7) {
		p.fill(o.digest[:])
		o.size = p.uint()
		p.need(o.hasResult())
	}
	if flag(8) {
		o.inline = p.rest()
		p.need(len(o.inline) <= maxInline && uint64(len(o.inline)) == o.size)
	}
	p.need(!o.lapsed || o.state == Unknown)
	p.need((o.ended > 0) == !o.open())
}

func (o *op) hasResult() bool { return o.digest != [32]byte{} }

// apart reports whether the result has a record of its own.
func (o *op) apart() bool { return o.hasResult() && o.inline == nil }

// open reports whether Finish can still end it.
func (o *op) open() bool { return o.state == Running || o.lapsed }

// ends reports whether it is among what is purged in time.
func (o *op) ends() bool { return o.state == Applied || o.state == Failed }

// overdue reports whether its lease has run out, be it written down or not.
func (o *op) overdue(now int64) bool { return o.open() && o.due <= now }

// holds reports whether h is the current hold.
func (o *op) holds(h Hold) bool { return o.fence == h.Fence && o.holder == h.Holder }

// keep makes result that of the operation. Nil is none.
func (o *op) keep(result *kept) {
	o.digest, o.size, o.inline = [32]byte{}, 0, nil
	if result == nil {
		return
	}
	o.digest, o.size = result.digest, uint64(len(result.data))
	if len(result.data) <= maxInline {
		o.inline = result.data
	}
}

// bytes returns what the operation costs under a name: its record, of that length, an
// index, and its result.
func (o *op) bytes(name string, record int) uint64 {
	size := uint64(opBytes + 2*len(name) + record)
	if o.apart() {
		size += o.size + uint64(len(name))
	}
	return size
}

// logged returns the record as the log has it: without the result, but with its
// digest.
func (o *op) logged() *op {
	without := *o
	without.inline = nil
	return &without
}

// public returns what callers see, but for the result. Now and wall are the times
// of the ledger and of the wall clock.
func (o *op) public(r Ref, now, wall int64) Operation {
	p := Operation{
		Ref: r, State: o.state, UID: o.uid, Fingerprint: o.fingerprint, Orphan: OrphanReject,
		Holder: o.holder, Fence: o.fence, Began: timeAt(o.began),
		Lapsed: o.lapsed, Settled: o.settled, Forked: o.forked,
	}
	if o.retry {
		p.Orphan = OrphanRetry
	}
	if o.overdue(now) {
		p.State, p.Lapsed = Unknown, true
	}
	if o.open() {
		p.LeaseExpires = timeAt(wall).Add(time.Duration(o.due-now) * time.Millisecond)
	} else {
		p.Ended = timeAt(o.ended)
	}
	return p
}

// kept is a result as it is stored.
type kept struct {
	data   []byte
	digest [32]byte
}

func keepResult(r *Result) (*kept, error) {
	if r == nil {
		return nil, nil
	}
	if err := r.valid(); err != nil {
		return nil, err
	}
	whole := encode(&stored{*r})
	k := &kept{data: whole, digest: sha256.Sum256(whole)}
	if len(r.Body) > MaxBody {
		k.data = encode(&stored{Result{Status: r.Status, Headers: r.Headers, BodyOmitted: true}})
	}
	return k, nil
}
