package ledger

import (
	"time"

	"github.com/opmint/opmint/keygen"
)

// maxMillis is the last millisecond of the year 9999, the last that RFC 3339 can
// write. Times are in milliseconds since 1970.
const maxMillis = 253402300799999

func millisOf(t time.Time) int64 { return min(max(t.UnixMilli(), 1), maxMillis) }

func timeAt(millis int64) time.Time { return time.UnixMilli(millis).UTC() }

// head is the record that there is one of. Every commit changes it, and rests on
// its being as it was read: so all that a commit read is as it was read.
type head struct {
	id      [16]byte
	since   int64  // by the wall clock
	time    int64  // of the ledger, at the last commit
	wall    int64  // of the wall clock, then
	events  uint64 // the number of the last one
	suspect bool

	counts   Counts // of all scopes
	scopes   uint64
	bytes    uint64
	logBytes uint64
}

func (h *head) append(b []byte) []byte {
	b = append(b, h.id[:]...)
	b = appendMillis(b, h.since, h.time, h.wall)
	b = appendUints(b, h.events, bit(h.suspect, 0))
	return appendUints(h.counts.append(b), h.scopes, h.bytes, h.logBytes)
}

func (h *head) parse(p *parser) {
	p.fill(h.id[:])
	h.since, h.time, h.wall = p.millis(), p.millis(), p.millis()
	h.events, h.suspect = p.uint(), p.uintTo(1) > 0
	h.counts.parse(p)
	h.scopes, h.bytes, h.logBytes = p.uint(), p.uint(), p.uint()
}

// bit returns 1 << n if set.
func bit(set bool, n int) uint64 {
	if set {
		return 1 << n
	}
	return 0
}

func (c *Counts) append(b []byte) []byte {
	return appendUints(b, c.Running, c.Applied, c.Failed, c.Unknown, c.Floors, c.Tombstones, c.Forked)
}

func (c *Counts) parse(p *parser) {
	for _, n := range []*uint64{&c.Running, &c.Applied, &c.Failed, &c.Unknown, &c.Floors, &c.Tombstones, &c.Forked} {
		*n = p.uint()
	}
}

// account is what a uid uses up.
type account struct {
	running, unknown, scopes, bytes uint64
}

func (a *account) append(b []byte) []byte {
	return appendUints(b, a.running, a.unknown, a.scopes, a.bytes)
}

func (a *account) parse(p *parser) {
	a.running, a.unknown, a.scopes, a.bytes = p.uint(), p.uint(), p.uint(), p.uint()
}

// scope is a namespace of operations.
type scope struct {
	place   place // place.owner is in the key, and so is name
	name    string
	uid     uint32 // who made it
	horizon int64  // in milliseconds
	cut     int64  // what ended until then is expired, whatever the horizon became
	visit   int64  // when to look for what is to be purged; 0: never
	counts  Counts
}

func (s *scope) append(b []byte) []byte {
	b = appendUints(b, uint64(s.place.scope), uint64(s.uid))
	b = appendMillis(b, s.horizon, s.cut, s.visit)
	return s.counts.append(b)
}

func (s *scope) parse(p *parser) {
	s.place.scope, s.uid = p.uid(), p.uid()
	s.horizon, s.cut, s.visit = p.millis(), p.millis(), p.millis()
	s.counts.parse(p)
}

// expired returns the time at or before which what ended is expired.
func (s *scope) expired(now int64) int64 { return max(s.cut, now-s.horizon) }

// floor is what a scope remembers of an identity for ever.
type floor struct {
	uid     uint32 // who came with the first of its names
	highest uint64 // epoch seen
	purged  uint64 // 0: none of its names was purged; else 1 + the epoch of the floor
	seq     uint64 // of the floor
}

func (f *floor) append(b []byte) []byte {
	return appendUints(b, uint64(f.uid), f.highest, f.purged, f.seq)
}

func (f *floor) parse(p *parser) {
	f.uid, f.highest = p.uid(), p.uintTo(keygen.MaxEpoch)
	f.purged, f.seq = p.uintTo(f.highest+1), p.uintTo(keygen.MaxSeq)
	p.need(f.purged > 0 || f.seq == 0)
}

// under reports whether a name is at or below the floor.
func (f *floor) under(epoch, seq uint64) bool {
	return epoch+1 < f.purged || epoch+1 == f.purged && seq <= f.seq
}

// saw takes note of a name, and purge of one that was purged.
func (f *floor) saw(n keygen.Name) { f.highest = max(f.highest, n.Epoch()) }

func (f *floor) purge(n keygen.Name) {
	f.saw(n)
	if !f.under(n.Epoch(), n.Seq()) {
		f.purged, f.seq = n.Epoch()+1, n.Seq()
	}
}

// tombstone is what is left of a key that has no floor.
type tombstone struct {
	uid  uint32 // who came with it
	made int64
}

func (t *tombstone) append(b []byte) []byte {
	return appendMillis(appendUints(b, uint64(t.uid)), t.made)
}

func (t *tombstone) parse(p *parser) { t.uid, t.made = p.uid(), p.millis() }

// Bytes that a record costs besides what is in the record of an operation.
const (
	floorBytes     = 64
	tombstoneBytes = 80
	opBytes        = 48
)
