package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// version is the format that is written, and the newest that is read.
const version = 1

var (
	formatBucket  = []byte("format")
	formatKey     = []byte("opmint")
	recordsBucket = []byte("records")
)

// maxNode bounds the pages of a branch or leaf: bbolt puts no more than four
// records into one that is larger than a page.
const maxNode = 5 * MaxValue / pageSize

// verifier checks a whole file, before bbolt sees it. bbolt finds only some
// damage and only on the way, some of it in a goroutine of its own, where a
// panic ends the process; and damage it does not find can hide records.
type verifier struct {
	file io.ReaderAt
	meta meta
	used []extent // pages that something refers to

	version int // of the format, once it was read
}

// extent is a run of pages that belong together.
type extent struct {
	id, pages uint64
	leaf      bool
	first     uint64 // of a leaf: hash of the first key it must have; 0: any
}

// verify returns the number of the newest transaction if all of the file is as
// Bolt and bbolt leave it: a store of this kind in a format known here. Else it
// returns ErrNewer, ErrForeign or ErrDamaged. It guards against accident, not
// malice: it knows no secret.
func verify(file io.ReaderAt, size int64, kind Kind) (newest int, err error) {
	v := &verifier{file: file}
	if err = v.verify(size, kind); err != nil {
		return 0, asDamage(err)
	}
	return int(v.meta.transaction), nil
}

// asDamage makes ErrDamaged of what a verifier found that is nothing else.
func asDamage(err error) error {
	if err == nil || errors.Is(err, ErrNewer) || errors.Is(err, ErrForeign) || errors.Is(err, ErrDamaged) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

func (v *verifier) verify(size int64, kind Kind) error {
	if err := v.metas(size); err != nil {
		return err
	}
	format, records, err := v.root()
	if err != nil {
		return err
	}
	if v.version, err = readFormat(format, kind); err != nil {
		return err
	}
	if err := v.records(records); err != nil {
		return err
	}
	return v.space()
}

// metas reads both meta pages. bbolt is content with one, since it takes the
// other for the victim of a crash. But what changes of such a page fits into
// one sector, which a disk writes whole or not at all; so an invalid one is
// damage, and to go on without it could be to forget the last transaction.
func (v *verifier) metas(size int64) error {
	if size < 2*pageSize {
		return fmt.Errorf("%d bytes are too short for a store", size)
	}
	var both [2]meta
	for id := range uint64(2) {
		p := make(page, pageSize)
		if _, err := v.file.ReadAt(p, int64(id*pageSize)); err != nil {
			return err
		}
		var err error
		if both[id], err = p.meta(id); err != nil {
			return err
		}
	}
	newer, older := both[0], both[1]
	if newer.transaction < older.transaction {
		newer, older = older, newer
	}
	if newer.transaction != older.transaction+1 || both[0].transaction%2 != 0 {
		return fmt.Errorf("meta pages of transactions %d and %d", both[0].transaction, both[1].transaction)
	}
	if newer.pages > uint64(size/pageSize) {
		return fmt.Errorf("%d bytes are too short for %d pages", size, newer.pages)
	}
	v.meta = newer
	v.used = []extent{{id: 0, pages: 2}}
	return nil
}

// root returns the values of the two buckets.
func (v *verifier) root() (format, records []byte, err error) {
	p, err := v.read(v.meta.root, maxNode)
	if err != nil {
		return nil, nil, err
	}
	var names, values [][]byte
	size, err := p.elements(leafFlag, func(e element) error {
		if !e.bucket || len(e.value) < bucketSize {
			return fmt.Errorf("no bucket")
		}
		names, values = append(names, e.key), append(values, e.value)
		return nil
	})
	if err == nil {
		err = p.filled(size)
	}
	if err != nil {
		return nil, nil, err
	}
	if !slices.EqualFunc(names, [][]byte{formatBucket, recordsBucket}, bytes.Equal) {
		return nil, nil, fmt.Errorf("%w: a bbolt file with buckets %.80q", ErrForeign, names)
	}
	return values[0], values[1], nil
}

// readFormat returns the version in the bucket with the format, which is always
// inline.
func readFormat(bucket []byte, kind Kind) (int, error) {
	text := ""
	_, err := inline(bucket, func(e element) error {
		value, err := unframe(e.key, e.value)
		if err == nil && !bytes.Equal(e.key, formatKey) {
			err = fmt.Errorf("format under key %.80q", e.key)
		}
		text = string(value)
		return err
	})
	if err != nil {
		return 0, err
	}
	number, name, _ := strings.Cut(text, " ")
	found, err := strconv.ParseUint(number, 10, 32)
	switch {
	case err != nil || found == 0:
		return 0, fmt.Errorf("format %.80q", text)
	case found > version:
		return 0, fmt.Errorf("%w: version %d, and this program knows %d: use the newer program", ErrNewer, found, version)
	case name != string(kind):
		return 0, fmt.Errorf("%w: a %.80q, and no %q", ErrForeign, name, kind)
	}
	return int(found), nil
}

// space checks that no page serves two purposes, and none of them is free.
func (v *verifier) space() error {
	var free []uint64
	if v.meta.freelist != noFreelist {
		p, err := v.read(v.meta.freelist, v.meta.pages)
		if err != nil {
			return err
		}
		if free, err = p.freelist(); err != nil {
			return err
		}
	}
	sortByID(v.used)
	next := uint64(0) // the first page after those seen
	for _, x := range v.used {
		for len(free) > 0 && free[0] < x.id {
			if free[0] < next {
				return fmt.Errorf("page %d is free and in use, or free twice", free[0])
			}
			next, free = free[0]+1, free[1:]
		}
		if x.id < next {
			return fmt.Errorf("page %d is in use twice, or also free", x.id)
		}
		next = x.id + x.pages
	}
	for _, id := range free {
		if id < next {
			return fmt.Errorf("page %d is free and in use, or free twice", id)
		}
		next = id + 1
	}
	if next > v.meta.pages {
		return fmt.Errorf("page %d is beyond the last", next-1)
	}
	return nil
}

// read returns the page and its overflow, at most so many pages, and counts
// them as used.
func (v *verifier) read(id, most uint64) (page, error) {
	p, err := v.load(id, most)
	if err == nil {
		v.used = append(v.used, extent{id: id, pages: p.pages()})
	}
	return p, err
}

func (v *verifier) load(id, most uint64) (page, error) {
	if id < 2 || id >= v.meta.pages {
		return nil, fmt.Errorf("page %d of %d", id, v.meta.pages)
	}
	p := make(page, pageSize)
	if _, err := v.file.ReadAt(p, int64(id*pageSize)); err != nil {
		return nil, err
	}
	n := p.pages()
	if p.id() != id || n > min(most, v.meta.pages-id) {
		return nil, fmt.Errorf("page %d says it is page %d, %d pages long", id, p.id(), n)
	}
	if n > 1 {
		p = make(page, n*pageSize)
		if _, err := v.file.ReadAt(p, int64(id*pageSize)); err != nil {
			return nil, err
		}
	}
	return p, nil
}
