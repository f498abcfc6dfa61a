package store

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// frameSize is what a stored value is longer than the value.
const frameSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame returns value as it is stored under key.
func frame(key, value []byte) []byte {
	stored := make([]byte, frameSize, frameSize+len(value))
	binary.BigEndian.PutUint32(stored, checksum(key, value))
	return append(stored, value...)
}

// unframe returns the part of stored that is the value. It accepts exactly
// what frame returns for a valid key and value, else fails with ErrDamaged.
func unframe(key, stored []byte) ([]byte, error) {
	n := len(stored) - frameSize
	if n < 1 || n > MaxValue || ValidKey(key) != nil {
		return nil, fmt.Errorf("%w: %d bytes stored under a key of %d", ErrDamaged, len(stored), len(key))
	}
	value := stored[frameSize:]
	if binary.BigEndian.Uint32(stored) != checksum(key, value) {
		return nil, fmt.Errorf("%w: key %.80q and its value do not fit their checksum", ErrDamaged, key)
	}
	return value, nil
}

// storedSum returns the checksum in front of a stored value, right or wrong,
// and 0 where there is none.
func storedSum(stored []byte) uint64 {
	if len(stored) < frameSize {
		return 0
	}
	return uint64(binary.BigEndian.Uint32(stored))
}

// checksum covers the key too, so that a key with a wrong bit is noticed, and
// a value under the key of another. It begins with the key's length where
// CRC-32C has 0, so that no byte can pass from the one to the other.
func checksum(key, value []byte) uint32 {
	return crc32.Update(crc32.Update(uint32(len(key)), castagnoli, key), castagnoli, value)
}
