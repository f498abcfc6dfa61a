package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
)

// The layout of bbolt's file, which is an array of pages. Numbers are in the
// byte order of the machine.
//
//	page     id 8, flags 2, count 2, overflow 4; then
//	  meta     magic 4, version 4, page size 4, flags 4, root bucket 16,
//	           freelist page 8, number of pages 8, transaction 8, FNV-1a 8
//	  branch   count × (pos 4, key size 4, page 8), then the keys
//	  leaf     count × (flags 4, pos 4, key size 4, value size 4), then
//	           key, value, key, value, …
//	  freelist count × 8; a count of 0xffff stands in front of the list instead
//	bucket   root page 8, sequence 8; root page 0: the page follows inline
//
// A page with overflow goes on for so many pages. pos counts from its element.
const (
	pageSize    = 4096
	headerSize  = 16
	elementSize = 16
	metaSize    = 64
	bucketSize  = 16

	branchFlag   = 0x01
	leafFlag     = 0x02
	metaFlag     = 0x04
	freelistFlag = 0x10

	bucketElement = 0x01 // flag of a leaf's element
	metaMagic     = 0xED0CDAED
	metaVersion   = 2
	noFreelist    = ^uint64(0)
	longFreelist  = 0xffff
)

var order = binary.NativeEndian

// page is a page with its overflow, or what stands inline in a bucket's value.
// It has at least headerSize bytes.
type page []byte

func (p page) id() uint64    { return order.Uint64(p) }
func (p page) flags() uint16 { return order.Uint16(p[8:]) }
func (p page) count() int    { return int(order.Uint16(p[10:])) }
func (p page) pages() uint64 { return 1 + uint64(order.Uint32(p[12:])) }

// element is an entry of a branch (key, child) or of a leaf (key, value).
type element struct {
	key, value []byte
	child      uint64
	bucket     bool
}

// elements calls visit for each element of a branch or leaf. It fails unless
// the page is laid out as bbolt does it: keys ascend, data stands without a
// gap behind the elements. So a changed count or size cannot hide a record.
// size is the number of bytes used.
func (p page) elements(kind uint16, visit func(element) error) (size int, err error) {
	if p.flags() != kind {
		return 0, fmt.Errorf("page %d has flags %#x instead of %#x", p.id(), p.flags(), kind)
	}
	size = headerSize + p.count()*elementSize
	var last []byte
	for i := range p.count() {
		at := headerSize + i*elementSize
		if at+elementSize > len(p) {
			return 0, fmt.Errorf("page %d: element %d is beyond its end", p.id(), i)
		}
		e, pos, err := p.element(kind, at, size)
		if err != nil {
			return 0, fmt.Errorf("page %d: element %d: %w", p.id(), i, err)
		}
		if pos != size-at || (i > 0 && bytes.Compare(last, e.key) >= 0) {
			return 0, fmt.Errorf("page %d: element %d is out of place", p.id(), i)
		}
		size += len(e.key) + len(e.value)
		last = e.key
		if err := visit(e); err != nil {
			return 0, fmt.Errorf("page %d: element %d: %w", p.id(), i, err)
		}
	}
	return size, nil
}

// filled returns an error unless a node of this size needs all of p.
func (p page) filled(size int) error {
	if (size+pageSize-1)/pageSize != len(p)/pageSize {
		return fmt.Errorf("page %d: %d bytes in %d", p.id(), size, len(p))
	}
	return nil
}

// element reads the element at a position whose data begin at another.
func (p page) element(kind uint16, at, data int) (e element, pos int, err error) {
	var k, v uint64
	if kind == branchFlag {
		pos = int(order.Uint32(p[at:]))
		k = uint64(order.Uint32(p[at+4:]))
		e.child = order.Uint64(p[at+8:])
	} else {
		flags := order.Uint32(p[at:])
		pos = int(order.Uint32(p[at+4:]))
		k, v = uint64(order.Uint32(p[at+8:])), uint64(order.Uint32(p[at+12:]))
		e.bucket = flags == bucketElement
		if flags > bucketElement {
			return e, 0, fmt.Errorf("flags %#x", flags)
		}
	}
	if k == 0 || uint64(data)+k+v > uint64(len(p)) {
		return e, 0, fmt.Errorf("key of %d and value of %d bytes do not fit", k, v)
	}
	e.key, e.value = p[data:data+int(k)], p[data+int(k):data+int(k+v)]
	return e, pos, nil
}

// meta is what is needed of a meta page.
type meta struct{ root, freelist, pages, transaction uint64 }

// meta reads the meta page that must have the given id. Pages of another size
// than pageSize are none of ours.
func (p page) meta(id uint64) (meta, error) {
	m := p[headerSize : headerSize+metaSize]
	sum := fnv.New64a()
	sum.Write(m[:metaSize-8])
	switch {
	case p.id() != id, p.flags() != metaFlag, order.Uint32(m) != metaMagic, order.Uint64(m[metaSize-8:]) != sum.Sum64():
		return meta{}, fmt.Errorf("page %d is not the meta page it should be", id)
	case order.Uint32(m[4:]) != metaVersion, order.Uint32(m[8:]) != pageSize:
		return meta{}, fmt.Errorf("bbolt version %d with pages of %d bytes", order.Uint32(m[4:]), order.Uint32(m[8:]))
	}
	return meta{
		root:        order.Uint64(m[16:]),
		freelist:    order.Uint64(m[32:]),
		pages:       order.Uint64(m[40:]),
		transaction: order.Uint64(m[48:]),
	}, nil
}

// freelist returns the ids of the free pages.
func (p page) freelist() ([]uint64, error) {
	if p.flags() != freelistFlag {
		return nil, fmt.Errorf("page %d has flags %#x instead of %#x", p.id(), p.flags(), freelistFlag)
	}
	n, list := uint64(p.count()), p[headerSize:]
	if n == longFreelist {
		n, list = order.Uint64(list), list[8:]
	}
	if n > uint64(len(list)/8) {
		return nil, fmt.Errorf("page %d: a list of %d free pages does not fit", p.id(), n)
	}
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = order.Uint64(list[8*i:])
	}
	return ids, nil
}
