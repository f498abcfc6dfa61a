package keygen

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// ErrLeaseRange says that a name outside its lease was asked for.
var ErrLeaseRange = errors.New("outside the lease")

// Terms are what a lease is made of, in plain data: enough to mint its names in
// another process. Whoever has the key can mint them, so it is a secret.
type Terms struct {
	Class    Class    // h, v or j
	Identity Identity // whose names
	Epoch    uint64   // 0 to [MaxEpoch]
	First    uint64   // the lowest seq, 0 to [MaxSeq]
	Count    uint64   // how many seqs from First on, 1 to [MaxSeq] + 1 - First
	Key      [16]byte // AES-128 key of the tags; random, never used for another lease
}

// Lease is a range of seqs with its key: the right to mint these names. It is
// immutable and safe for concurrent use; whoever uses it sees to it that each of
// its names is used once. It is void in a child process.
type Lease struct {
	terms  Terms
	tags   cipher.Block
	prefix [seqAt]byte // class, version, identity and epoch, with separators
	check  uint16      // of prefix followed by zero digits
}

// NewLease prepares a lease for minting. Terms that no name can have are an
// [ErrInvalid].
func NewLease(t Terms) (*Lease, error) {
	switch {
	case !t.Class.minted():
		return nil, fmt.Errorf("%w: lease of class %q: names are minted in classes h, v and j", ErrInvalid, t.Class)
	case t.Identity.IsZero():
		return nil, fmt.Errorf("%w: lease without an identity", ErrInvalid)
	case t.Epoch > MaxEpoch:
		return nil, fmt.Errorf("%w: lease of epoch %d: the highest is %d", ErrInvalid, t.Epoch, MaxEpoch)
	case t.First > MaxSeq || t.Count < 1 || t.Count > MaxSeq+1-t.First:
		return nil, fmt.Errorf("%w: lease of %d seqs from %d: the highest is %d", ErrInvalid, t.Count, t.First, MaxSeq)
	}
	tags, err := aes.NewCipher(t.Key[:])
	if err != nil {
		return nil, fmt.Errorf("prepare a lease's key: %w", err)
	}
	l := &Lease{terms: t, tags: tags}
	l.prefix[0], l.prefix[1], l.prefix[identityAt-1] = byte(t.Class), '1', '-'
	copy(l.prefix[identityAt:], t.Identity.digits[:])
	l.prefix[epochAt-1] = '-'
	putDigits40(l.prefix[epochAt:], t.Epoch)
	l.prefix[seqAt-1] = '-'
	l.check = check10(append(l.prefix[:], "00000000-0000000000000000"...))
	return l, nil
}

// Terms returns what the lease was made of, its secret key too.
func (l *Lease) Terms() Terms { return l.terms }

// Count returns how many names the lease has.
func (l *Lease) Count() uint64 { return l.terms.Count }

// AppendName appends name i of the lease, 0 to Count-1, as its 58 characters. It
// allocates nothing where dst has room. Any other i is an [ErrLeaseRange].
func (l *Lease) AppendName(dst []byte, i uint64) ([]byte, error) {
	if i >= l.terms.Count {
		return dst, fmt.Errorf("%w: name %d of a lease of %d", ErrLeaseRange, i, l.terms.Count)
	}
	at := len(dst)
	dst = slices.Grow(dst, Length)[:at+Length]
	name := dst[at : at+Length : at+Length]
	seq := l.terms.First + i

	// The tag's 16 digits take just the room of an AES block: the block is
	// encrypted where they will stand.
	block := name[tagAt:checkAt]
	binary.BigEndian.PutUint64(block, 0)
	binary.BigEndian.PutUint64(block[8:], seq)
	l.tags.Encrypt(block, block)
	high, low := binary.BigEndian.Uint64(block), binary.BigEndian.Uint64(block[2:])

	copy(name, l.prefix[:])
	check := l.check ^ putDigits40Check(name[seqAt:], seq, seqDeltas)
	name[tagAt-1] = '-'
	check ^= putDigits40Check(block, high>>24, tagHighDeltas)
	check ^= putDigits40Check(block[8:], low, tagLowDeltas)
	putCheck(name[checkAt:], check)
	return dst, nil
}

// Name returns name i of the lease, 0 to Count-1; any other i is an
// [ErrLeaseRange].
func (l *Lease) Name(i uint64) (Name, error) {
	var buf [Length]byte
	text, err := l.AppendName(buf[:0], i)
	if err != nil {
		return Name{}, err
	}
	return Name{text: string(text)}, nil
}
