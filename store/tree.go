package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"runtime"
	"slices"
	"sync"
)

const (
	maxLevels = 64      // of a tree; bbolt's grow by a level for each split of the root
	window    = 1 << 20 // bytes read at once
)

var seed = maphash.MakeSeed()

// records verifies the bucket with the records: every page and every record.
// Its sequence number is the sum of all checksums, so none can be missing.
func (v *verifier) records(bucket []byte) error {
	root, want := order.Uint64(bucket), order.Uint64(bucket[8:])
	var sum uint64
	var err error
	if root == 0 {
		sum, err = inline(bucket, isRecord)
	} else {
		sum, err = v.tree(root)
	}
	if err == nil && sum != want {
		err = fmt.Errorf("checksums of all records add up to %#x instead of %#x", sum, want)
	}
	return err
}

// isRecord verifies an element of a leaf.
func isRecord(e element) error {
	if e.bucket {
		return errors.New("a bucket among records")
	}
	_, err := unframe(e.key, e.value)
	return err
}

// inline verifies a bucket whose only page stands in its value.
func inline(bucket []byte, visit func(element) error) (sum uint64, err error) {
	p := page(bucket[bucketSize:])
	if order.Uint64(bucket) != 0 || len(p) < headerSize || p.id() != 0 {
		return 0, errors.New("bucket without its inline page")
	}
	size, err := p.elements(leafFlag, func(e element) error {
		if err := visit(e); err != nil {
			return err
		}
		sum += storedSum(e.value)
		return nil
	})
	if err == nil && size != len(p) {
		err = fmt.Errorf("bucket of %d bytes in %d", size, len(p))
	}
	return sum, err
}

// tree verifies the tree with this root, branches first and in the order of
// keys, then the leaves in the order of the file, so that all but the few
// branches is read front to back.
func (v *verifier) tree(root uint64) (sum uint64, err error) {
	levels, err := v.levels(root)
	if err != nil {
		return 0, err
	}
	if err := v.branch(root, levels, nil); err != nil {
		return 0, err
	}
	sortByID(v.used)
	return v.leaves()
}

// levels returns the number of branches above each leaf: as many as above the
// first, since bbolt's trees grow at the root.
func (v *verifier) levels(root uint64) (int, error) {
	id := root
	for n := range maxLevels {
		p, err := v.load(id, maxNode)
		if err != nil {
			return 0, err
		}
		if p.flags() == leafFlag {
			return n, nil
		}
		if p.flags() != branchFlag || p.count() == 0 {
			return 0, fmt.Errorf("page %d is neither branch nor leaf", id)
		}
		e, _, err := p.element(branchFlag, headerSize, headerSize+p.count()*elementSize)
		if err != nil {
			return 0, err
		}
		id = e.child
	}
	return 0, fmt.Errorf("tree of more than %d levels", maxLevels)
}

// branch verifies all branches from page id down and notes the leaves, each
// with the key its parent has for it: bbolt gives a page's first key to the
// parent, so a search can't be led astray by either. No key: no parent.
func (v *verifier) branch(id uint64, levels int, first []byte) error {
	if levels == 0 {
		if id < 2 || id >= v.meta.pages || uint64(len(v.used)) > v.meta.pages {
			return fmt.Errorf("page %d of %d, after %d others", id, v.meta.pages, len(v.used))
		}
		v.used = append(v.used, extent{id: id, pages: 1, leaf: true, first: hash(first)})
		return nil
	}
	p, err := v.read(id, maxNode)
	if err != nil {
		return err
	}
	size, err := p.elements(branchFlag, func(e element) error {
		if first != nil && !bytes.Equal(first, e.key) {
			return fmt.Errorf("first key %.80q instead of %.80q", e.key, first)
		}
		first = nil
		return v.branch(e.child, levels-1, e.key)
	})
	if err == nil && p.count() == 0 {
		err = fmt.Errorf("page %d is an empty branch", id)
	}
	if err != nil {
		return err
	}
	return p.filled(size)
}

// leaves verifies all leaves, on all processors.
func (v *verifier) leaves() (sum uint64, err error) {
	workers := runtime.GOMAXPROCS(0)
	sums, errs := make([]uint64, workers), make([]error, workers)
	var wait sync.WaitGroup
	for i := range workers {
		part := v.used[i*len(v.used)/workers : (i+1)*len(v.used)/workers]
		wait.Go(func() { sums[i], errs[i] = v.part(part) })
	}
	wait.Wait()
	for _, s := range sums {
		sum += s
	}
	return sum, errors.Join(errs...)
}

// part verifies the leaves among these extents.
func (v *verifier) part(part []extent) (sum uint64, err error) {
	if len(part) == 0 {
		return 0, nil
	}
	last := part[len(part)-1].id
	buf := make(page, min(window, (last-part[0].id+1)*pageSize))
	for len(part) > 0 {
		base, n := part[0].id, 1
		for n < len(part) && (part[n].id-base+1)*pageSize <= window {
			n++
		}
		read := buf[:(part[n-1].id-base+1)*pageSize]
		if _, err := v.file.ReadAt(read, int64(base*pageSize)); err != nil {
			return 0, err
		}
		for i := range part[:n] {
			s, err := v.leaf(&part[i], read[(part[i].id-base)*pageSize:])
			if err != nil {
				return 0, err
			}
			sum += s
		}
		part = part[n:]
	}
	return sum, nil
}

// leaf verifies the leaf that begins p, and completes its extent.
func (v *verifier) leaf(x *extent, p page) (sum uint64, err error) {
	if !x.leaf {
		return 0, nil
	}
	if n := p.pages(); p.id() == x.id && n*pageSize <= uint64(len(p)) {
		p = p[:n*pageSize]
	} else if p, err = v.load(x.id, maxNode); err != nil {
		return 0, err
	}
	x.pages = p.pages()
	first := x.first
	size, err := p.elements(leafFlag, func(e element) error {
		if first != 0 && first != hash(e.key) {
			return fmt.Errorf("first key %.80q is not its parent's", e.key)
		}
		first = 0
		sum += storedSum(e.value)
		return isRecord(e)
	})
	if err == nil && first != 0 {
		err = fmt.Errorf("page %d has a parent and no key", x.id)
	}
	if err != nil {
		return 0, err
	}
	return sum, p.filled(size)
}

// hash is 0 for no key, and for others with a chance of 2^-64.
func hash(key []byte) uint64 {
	if len(key) == 0 {
		return 0
	}
	return maphash.Bytes(seed, key)
}

func sortByID(extents []extent) {
	slices.SortFunc(extents, func(a, b extent) int { return cmp.Compare(a.id, b.id) })
}
