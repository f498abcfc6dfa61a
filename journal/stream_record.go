package journal

import (
	"encoding/binary"
	"fmt"

	"github.com/opmint/opmint/keygen"
)

// streamRecord is a stream. Of its numbers those below floor are forgotten, those
// below base are acked, and next is the first that was not given.
type streamRecord struct {
	Edition keygen.Edition `json:"edition"`

	// Identity and Gone say what the edition was drawn under: whose names, and how
	// often the journal had, or may have, gone back before.
	Identity keygen.Identity `json:"identity"`
	Gone     uint64          `json:"gone"`

	Base  uint64 `json:"base"`
	Next  uint64 `json:"next"`
	Floor uint64 `json:"floor"`
	Due   uint64 `json:"due"`   // under which time it is due; 0: under none
	Until uint64 `json:"until"` // it stands so long after its last number was forgotten
}

func (r *streamRecord) valid() error {
	if r.Floor > r.Base || r.Base > r.Next {
		return fmt.Errorf("numbers %d to %d, acked below %d", r.Floor, r.Next, r.Base)
	}
	return nil
}

// editionsRecord is the highest number of an edition of streams that were
// forgotten: where one of them begins again, it is with a higher one.
type editionsRecord struct {
	Highest uint64 `json:"highest"`
}

func (r *editionsRecord) valid() error { return nil }

const editionsKey = "editions"

func streamKey(uid uint32, stream string) string { return userKey(streamPrefix, uid, stream) }

// itemKey returns the key of an intent in a stream.
func itemKey(uid uint32, stream, intent string) string {
	return userKey(itemPrefix, uid, string(byte(len(stream)))+stream+intent)
}

// numberKey returns the key under which the intent of a number is found.
func numberKey(uid uint32, stream string, number uint64) string {
	rest := append([]byte{byte(len(stream))}, stream...)
	return userKey(numberPrefix, uid, string(binary.BigEndian.AppendUint64(rest, number)))
}

// itemRecord is an intent in a stream. In the store it is
//
//	number   8 bytes
//	expires  8        when it can be forgotten, in milliseconds of the journal's time
//	retain   8        for how long it is remembered at least, in milliseconds
//	void     1        0 or 1
//	name     58
type itemRecord struct {
	number  uint64
	expires uint64
	retain  uint64
	void    bool
	name    keygen.Name
}

func (r *itemRecord) encode() []byte {
	b := make([]byte, 0, 25+keygen.Length)
	b = binary.BigEndian.AppendUint64(b, r.number)
	b = binary.BigEndian.AppendUint64(b, r.expires)
	b = binary.BigEndian.AppendUint64(b, r.retain)
	void := byte(0)
	if r.void {
		void = 1
	}
	return append(append(b, void), r.name.String()...)
}

func decodeItem(key string, b []byte) (r itemRecord, err error) {
	if len(b) != 25+keygen.Length || b[24] > 1 {
		return r, damaged(key, fmt.Sprintf("a number of %d bytes", len(b)))
	}
	r.number, r.expires = binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
	r.retain, r.void = binary.BigEndian.Uint64(b[16:]), b[24] == 1
	if r.name, err = keygen.Parse(string(b[25:])); err != nil {
		return r, damaged(key, err.Error())
	}
	return r, nil
}
