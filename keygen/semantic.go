package keygen

import (
	"crypto/sha512"
	"encoding/binary"
)

// Semantic returns the name of an operation that is its content: s1- and the
// first 265 bits of a SHA-512 over the fields, each preceded by its length, so
// that distinct fields have distinct names ("coil", "7" is not "coil7"). Fields
// are bytes, as given: no trimming, no Unicode normalisation. At least one field
// is needed; an empty one counts.
func Semantic(fields ...string) (Name, error) {
	if len(fields) == 0 {
		return Name{}, invalid("a semantic name needs at least one field")
	}
	h := sha512.New()
	h.Write([]byte("opmint semantic v1\n"))
	for _, field := range fields {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(field)))
		h.Write(length[:])
		h.Write([]byte(field))
	}
	text := make([]byte, Length)
	copy(text, "s1-")
	putDigits(text[identityAt:checkAt], h.Sum(nil))
	putCheck(text[checkAt:], check10(text[:checkAt]))
	return Name{text: string(text)}, nil
}
