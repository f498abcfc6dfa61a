package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
)

// Fingerprint is the SHA-256 of the payload that an intent is for, or none.
type Fingerprint struct {
	Sum   [sha256.Size]byte // the SHA-256
	Known bool              // false: none, and Sum is zero
}

// String returns sha256: and 64 hexadecimal digits, or "none".
func (f Fingerprint) String() string {
	if !f.Known {
		return "none"
	}
	return "sha256:" + hex.EncodeToString(f.Sum[:])
}

// What the keys of intents and streams begin with. They are short, since there can
// be many.
const (
	duePrefix       = "d/"
	intentPrefix    = "i/"
	itemPrefix      = "m/"
	numberPrefix    = "n/"
	streamPrefix    = "s/"
	tombstonePrefix = "t/"
)

// userKey returns a key of a user's.
func userKey(prefix string, uid uint32, rest string) string {
	key := make([]byte, 0, len(prefix)+4+len(rest))
	key = binary.BigEndian.AppendUint32(append(key, prefix...), uid)
	return string(append(key, rest...))
}

func intentKey(uid uint32, intent string) string { return userKey(intentPrefix, uid, intent) }

// countsKey returns the key of what a user has. It stands behind the user's intents,
// none of which has such a byte: where they come in order, in the page that a new
// one changes anyway.
func countsKey(uid uint32) string { return userKey(intentPrefix, uid, "\xff") }

// tombstoneKey returns the key of what is left of a record that was forgotten: no
// more than a hash of it.
func tombstoneKey(uid uint32, forgotten string) string {
	sum := sha256.Sum256([]byte(forgotten))
	return userKey(tombstonePrefix, uid, string(sum[:16]))
}

// dueKey returns the key under which the record at another is found once its time
// has come. Such keys are in the order of time.
func dueKey(at uint64, key string) string {
	due := make([]byte, 0, len(duePrefix)+8+len(key))
	due = binary.BigEndian.AppendUint64(append(due, duePrefix...), at)
	return string(append(due, key...))
}

// readDueKey reads what dueKey returned.
func readDueKey(due string) (at uint64, key string, err error) {
	if len(due) < len(duePrefix)+8+len(intentPrefix)+4 {
		return 0, "", damaged(due, "too short")
	}
	return binary.BigEndian.Uint64([]byte(due[len(duePrefix):])), due[len(duePrefix)+8:], nil
}

// ownerOf returns the user of a key that userKey returned.
func ownerOf(key string) uint32 { return binary.BigEndian.Uint32([]byte(key[len(intentPrefix):])) }

// present is the value of keys that say all by being there.
var present = []byte{1}

func damaged(key, what string) error {
	return fmt.Errorf("record %.80q: %w: %s", key, store.ErrDamaged, what)
}

// intentRecord is an intent and its name. In the store it is
//
//	created  8 bytes  milliseconds since 1970, by the wall clock
//	expires  8        when it is forgotten, in milliseconds of the journal's time
//	retain   8        for how long it is remembered in all, in milliseconds
//	sum      0 or 32  the fingerprint
//	name     58
type intentRecord struct {
	created     time.Time
	expires     uint64
	retain      uint64
	fingerprint Fingerprint
	name        keygen.Name
}

// maxMillis is the last time that RFC 3339 can write, in the year 9999.
const maxMillis = 253_402_300_799_999

func (r *intentRecord) encode() []byte {
	b := make([]byte, 0, 24+sha256.Size+keygen.Length)
	b = binary.BigEndian.AppendUint64(b, uint64(min(max(0, r.created.UnixMilli()), maxMillis)))
	b = binary.BigEndian.AppendUint64(b, r.expires)
	b = binary.BigEndian.AppendUint64(b, r.retain)
	if r.fingerprint.Known {
		b = append(b, r.fingerprint.Sum[:]...)
	}
	return append(b, r.name.String()...)
}

func decodeIntent(key string, b []byte) (r intentRecord, err error) {
	switch len(b) {
	case 24 + keygen.Length:
	case 24 + sha256.Size + keygen.Length:
		r.fingerprint = Fingerprint{[sha256.Size]byte(b[24:]), true}
	default:
		return r, damaged(key, fmt.Sprintf("an intent of %d bytes", len(b)))
	}
	created := binary.BigEndian.Uint64(b)
	if created > maxMillis {
		return r, damaged(key, "it was created too late")
	}
	r.created = time.UnixMilli(int64(created)).UTC()
	r.expires, r.retain = binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])
	if r.name, err = keygen.Parse(string(b[len(b)-keygen.Length:])); err != nil {
		return r, damaged(key, err.Error())
	}
	return r, nil
}

// encodeTime and decodeTime are for a record that is a point of the journal's time.
func encodeTime(at uint64) []byte { return binary.BigEndian.AppendUint64(nil, at) }

func decodeTime(key string, b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, damaged(key, fmt.Sprintf("a time of %d bytes", len(b)))
	}
	return binary.BigEndian.Uint64(b), nil
}

// counts is how much a user has of what is bounded. In the store each is 8 bytes.
type counts struct {
	intents uint64 // those in streams too
	streams uint64
}

func (c *counts) encode() []byte {
	if *c == (counts{}) {
		return nil
	}
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, c.intents), c.streams)
}

// decodeCounts reads what encode returned: nothing, if there is nothing.
func decodeCounts(key string, b []byte) (c counts, err error) {
	switch len(b) {
	case 0:
		return c, nil
	case 16:
		return counts{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}, nil
	}
	return c, damaged(key, fmt.Sprintf("counts of %d bytes", len(b)))
}
