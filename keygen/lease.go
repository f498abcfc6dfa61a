package keygen

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"unsafe"
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
	Key      Key      // of the tags; random, never used for another lease
}

// Key is the AES-128 key of a lease's tags. Who has it can mint the lease's names,
// so it does not print itself; convert it to [16]byte where it has to be sent.
type Key [16]byte

// Format prints "[lease key]" for every verb, so that no log has the key.
func (Key) Format(f fmt.State, _ rune) {
	// A printer's writes do not fail; the printer's caller learns of its errors.
	_, _ = io.WriteString(f, "[lease key]")
}

// MarshalText always fails, so that no encoder puts the key where it was not meant
// to be.
func (Key) MarshalText() ([]byte, error) {
	return nil, errors.New("a lease key is a secret and has no text")
}

// Lease is a range of seqs with its key: the right to mint these names. It is
// immutable and safe for concurrent use; whoever uses it sees to it that each of
// its names is used once. It is void in a child process.
type Lease struct {
	terms Terms
	tags  cipher.Block
	stem
}

// stem is what the names of an epoch begin with.
type stem struct {
	prefix [seqAt]byte // class, version, identity and epoch, with separators
	check  uint16      // of prefix followed by zero digits
}

// NewLease prepares a lease for minting. Terms that no name can have are an
// [ErrInvalid].
func NewLease(t Terms) (*Lease, error) {
	switch {
	case !t.Class.minted():
		return nil, invalid("lease of %v: names are minted in classes h, v and j", t.Class)
	case t.Identity.IsZero():
		return nil, invalid("lease without an identity")
	case t.Epoch > MaxEpoch:
		return nil, invalid("lease of epoch %d: the highest is %d", t.Epoch, MaxEpoch)
	case t.First > MaxSeq || t.Count < 1 || t.Count > MaxSeq+1-t.First:
		return nil, invalid("lease of %d seqs from %d: the highest is %d", t.Count, t.First, MaxSeq)
	}
	l := &Lease{terms: t, stem: newStem(t.Class, t.Identity, t.Epoch)}
	if err := l.useKey(); err != nil {
		return nil, err
	}
	return l, nil
}

func newStem(class Class, id Identity, epoch uint64) (s stem) {
	s.prefix[0], s.prefix[1], s.prefix[identityAt-1] = byte(class), '1', '-'
	copy(s.prefix[identityAt:], id.digits[:])
	s.prefix[epochAt-1] = '-'
	putDigits40(s.prefix[epochAt:], epoch)
	s.prefix[seqAt-1] = '-'
	s.check = check10(append(s.prefix[:], "00000000-0000000000000000"...))
	return s
}

// useKey prepares the tags.
func (l *Lease) useKey() (err error) {
	if l.tags, err = aes.NewCipher(l.terms.Key[:]); err != nil {
		return fmt.Errorf("prepare a lease's key: %w", err)
	}
	return nil
}

// Terms returns what the lease was made of, the key too.
func (l *Lease) Terms() Terms { return l.terms }

// Format prints the lease's range, and never its key, for every verb.
func (l *Lease) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "lease of %d names from %d in epoch %d of %v",
		l.terms.Count, l.terms.First, l.terms.Epoch, l.terms.Identity)
}

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
	text, err := l.AppendName(make([]byte, 0, Length), i)
	if err != nil {
		return Name{}, err
	}
	// Nobody else has the bytes, so they can become the string.
	return Name{text: unsafe.String(unsafe.SliceData(text), Length)}, nil
}
