package keygen

import (
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"
)

// What a Run prepares ahead, in powers of 2.
const (
	tagSize   = 16   // bytes of an AES block, which holds a tag
	runTags   = 64   // tags made at a time
	runPrefix = 1024 // names that share all digits of seq but the last two
)

// Run mints consecutive names of a lease, from first to last, in less than half
// the time of [Lease.AppendName]. The zero Run has no names; [Run.Reset] gives it
// some. It is for one goroutine at a time, and whoever uses it sees to it that no
// two Runs have a name in common.
type Run struct {
	lease     *Lease
	next, end uint64 // seqs
	prefix    [tagAt]byte
	check     uint16 // of prefix followed by zero digits

	// AES-128 of seq, of seq + 1 and so on is what counter mode (NIST SP 800-38A
	// section 6.5) makes of zeros, and the CPU works on several blocks at a time.
	stream cipher.Stream
	tags   [runTags * tagSize]byte
}

// Reset gives r names i to i+n-1 of a lease, in place of those that it had. What
// is not in the lease is an [ErrLeaseRange].
func (r *Run) Reset(l *Lease, i, n uint64) error {
	if i > l.terms.Count || n > l.terms.Count-i {
		return fmt.Errorf("%w: %d names from name %d of a lease of %d", ErrLeaseRange, n, i, l.terms.Count)
	}
	r.lease = l
	r.next = l.terms.First + i
	r.end = r.next + n
	copy(r.prefix[:], l.prefix[:])
	r.prefix[tagAt-1] = '-'
	var counter [tagSize]byte
	binary.BigEndian.PutUint64(counter[tagSize-8:], r.next)
	r.stream = cipher.NewCTR(l.tags, counter[:])
	if n > 0 {
		r.prepare()
	}
	return nil
}

// Format prints how many names are left, and never the tags, for every verb.
func (r *Run) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "run of %d names", r.Left()) }

// Left returns how many names r still has.
func (r *Run) Left() uint64 { return r.end - r.next }

// AppendName appends the next name as its 58 characters. It allocates nothing
// where dst has room. When there is none left it is an [ErrLeaseRange].
func (r *Run) AppendName(dst []byte) ([]byte, error) {
	if r.next == r.end {
		return dst, fmt.Errorf("%w: all names of the run are used", ErrLeaseRange)
	}
	at := len(dst)
	dst = slices.Grow(dst, Length)[:at+Length]
	name := (*[Length]byte)(dst[at:])

	tag := r.tags[r.next%runTags*tagSize:][:tagSize]
	high, low := binary.BigEndian.Uint64(tag), binary.BigEndian.Uint64(tag[2:])
	*(*[tagAt]byte)(name[:]) = r.prefix
	last, lastButOne := r.next&31, r.next>>5&31
	name[seqAt+6], name[seqAt+7] = alphabet[lastButOne], alphabet[last]
	check := r.check ^ seqDeltas[6][lastButOne] ^ seqDeltas[7][last]
	check ^= putDigits40Check(name[tagAt:], high>>24, tagHighDeltas)
	check ^= putDigits40Check(name[tagAt+8:], low, tagLowDeltas)
	putCheck(name[checkAt:], check)

	if r.next++; r.next%runTags == 0 && r.next != r.end {
		r.prepare()
	}
	return dst, nil
}

// Name returns the next name. When there is none left it is an [ErrLeaseRange].
func (r *Run) Name() (Name, error) {
	text, err := r.AppendName(make([]byte, 0, Length))
	if err != nil {
		return Name{}, err
	}
	// Nobody else has the bytes, so they can become the string.
	return Name{text: unsafe.String(unsafe.SliceData(text), Length)}, nil
}

// prepare makes the tags from r.next to where they end or the next ones begin,
// and all digits of seq but the last two.
func (r *Run) prepare() {
	from := r.next % runTags
	tags := r.tags[from*tagSize : min(from+r.Left(), runTags)*tagSize]
	clear(tags)
	r.stream.XORKeyStream(tags, tags)
	r.check = r.lease.check ^ putDigits40Check(r.prefix[seqAt:], r.next&^(runPrefix-1), seqDeltas)
}
