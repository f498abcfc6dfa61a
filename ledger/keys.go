package ledger

import (
	"encoding/binary"
)

// Kinds of records: the first byte of their keys. What changes with every commit
// stands together, so that it is in few pages.
const (
	kindHead    = 'a'
	kindAccount = 'b'
	kindChain   = 'c'
	kindScope   = 'd'
	kindVisit   = 'e' // scopes, by when to look at them for what is to be purged
	kindPlace   = 'g' // names of scopes, by their numbers

	kindFloor     = 'f'
	kindLog       = 'l'
	kindOp        = 'o'
	kindEnd       = 'p' // operations that ended, by when
	kindResult    = 'r'
	kindTombstone = 't'
	kindBurial    = 'u' // tombstones, by when they were made
	kindUnknown   = 'v' // operations whose outcome is unknown, by name
	kindLease     = 'w' // running operations, by the end of their lease
	kindSince     = 'x' // operations whose outcome is unknown, by since when
)

var headKey = string([]byte{kindHead})

// place is a scope in keys: whose it is, and its number there.
type place struct {
	owner, scope uint32
}

// sharedOwner owns the shared scopes. It is no uid: setuid takes it for none.
const sharedOwner uint32 = 1<<32 - 1

func ownerKey(kind byte, owner uint32) string {
	return string(binary.BigEndian.AppendUint32([]byte{kind}, owner))
}

func scopeKey(owner uint32, scope string) string { return ownerKey(kindScope, owner) + scope }

func (p place) append(b []byte) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, p.owner), p.scope)
}

// beginKey returns the beginning of a key, with room for all of it.
func beginKey(kind byte, what string) []byte { return append(make([]byte, 0, atTimed+len(what)), kind) }

// key returns the key of what stands in the scope by name.
func (p place) key(kind byte, what string) string {
	return string(append(p.append(beginKey(kind, what)), what...))
}

// timedKey returns the key of what stands in the scope by time.
func (p place) timedKey(kind byte, millis int64, what string) string {
	return string(append(binary.BigEndian.AppendUint64(p.append(beginKey(kind, what)), uint64(millis)), what...))
}

// timeKey returns the key of what stands in the ledger by time.
func (p place) timeKey(kind byte, millis int64, what string) string {
	return string(append(p.append(binary.BigEndian.AppendUint64(beginKey(kind, what), uint64(millis))), what...))
}

// logKey returns the key of the block of a chain that ends with that event.
func logKey(owner uint32, last uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte(ownerKey(kindLog, owner)), last))
}

// logNumber returns the number of the last event of a block.
func logNumber(key []byte) uint64 { return binary.BigEndian.Uint64(key[atOwner+4:]) }

// Where the parts of keys begin.
const (
	atOwner = 1             // in all keys by owner
	atName  = 1 + 4 + 4     // in the keys of place.key
	atTimed = 1 + 4 + 4 + 8 // the name, in the keys of timedKey and timeKey
)

// timedMillis returns the time in a key of timedKey.
func timedMillis(key []byte) int64 { return int64(binary.BigEndian.Uint64(key[atName:])) }

// timeOf returns the time and the place in a key of timeKey.
func timeOf(key []byte) (int64, place) {
	return int64(binary.BigEndian.Uint64(key[1:])), place{
		owner: binary.BigEndian.Uint32(key[9:]), scope: binary.BigEndian.Uint32(key[13:]),
	}
}

// ownerOf returns the owner in a key by owner.
func ownerOf(key []byte) uint32 { return binary.BigEndian.Uint32(key[atOwner:]) }
