package soak_test

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/opmint/opmint/keygen"
)

// Where the numbers stand in a name.
const (
	epochAt = 22
	seqAt   = 31
	tagAt   = 40
)

// blockNames is how many seqs a block of seen names has.
const blockNames = 1 << 13

// block has a bit for each seq that was seen.
type block [blockNames / 64]atomic.Uint64

// seen remembers which numbers were seen, a bit each.
type seen struct {
	prefix atomic.Pointer[[]byte] // class and identity, the same for all
	blocks sync.Map               // from blockKey to *block
	count  atomic.Int64           // of blocks
}

// blockKey says which seqs a block has: blockNames from number * blockNames on.
type blockKey struct{ epoch, number uint64 }

// reader adds names of one goroutine, most of which are of the block of the last
// one.
type reader struct {
	*seen
	key   blockKey
	block *block
	names int
}

// add adds a name, or says what is wrong with it.
func (r *reader) add(name []byte) error {
	prefix := r.prefix.Load()
	if prefix == nil {
		first := bytes.Clone(name[:epochAt])
		r.prefix.CompareAndSwap(nil, &first)
		prefix = r.prefix.Load()
	}
	if len(name) != keygen.Length || !bytes.Equal(name[:epochAt], *prefix) {
		return fmt.Errorf("%s is not of %s", name, *prefix)
	}
	if r.names++; r.names%64 == 0 {
		if _, err := keygen.Parse(string(name)); err != nil {
			return err
		}
	}
	seq := number(name[seqAt : tagAt-1])
	if key := (blockKey{number(name[epochAt : seqAt-1]), seq / blockNames}); r.block == nil || key != r.key {
		found, loaded := r.blocks.LoadOrStore(key, new(block))
		if !loaded {
			r.count.Add(1)
		}
		r.key, r.block = key, found.(*block)
	}
	bit := uint64(1) << (seq % 64)
	if r.block[seq%blockNames/64].Or(bit)&bit != 0 {
		return fmt.Errorf("%s: its number comes a second time", name)
	}
	return nil
}

// bytes returns how much memory the blocks take.
func (s *seen) bytes() int64 { return s.count.Load() * blockNames / 8 }

var digits = func() (values [256]uint64) {
	for v, digit := range []byte("0123456789abcdefghjkmnpqrstvwxyz") {
		values[digit] = uint64(v)
	}
	return values
}()

// number reads digits in base 32.
func number(text []byte) (n uint64) {
	for _, digit := range text {
		n = n<<5 | digits[digit]
	}
	return n
}
