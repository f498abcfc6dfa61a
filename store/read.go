package store

import (
	"bytes"
	"cmp"
	"context"

	"go.etcd.io/bbolt"
)

// get returns a value as of now. Get clones it.
func (s *Bolt) get(ctx context.Context, key []byte) (value []byte, err error) {
	if r := s.recent; r != nil {
		r.mu.RLock()
		defer r.mu.RUnlock()
		if value, known := r.table.get(key); known {
			return bytes.Clone(value), cmp.Or(ctx.Err(), s.state.Load().err)
		}
	}
	err = s.view(ctx, func(b *bbolt.Bucket) error {
		stored := b.Get(key)
		if stored == nil {
			return nil
		}
		v, err := unframe(key, stored)
		value = bytes.Clone(v)
		return err
	})
	return value, err
}

// scan returns records as of now.
func (s *Bolt) scan(ctx context.Context, prefix, after []byte, limit int) (records []Record, err error) {
	var n *node
	if r := s.recent; r != nil {
		r.mu.RLock()
		defer r.mu.RUnlock()
		from := prefix
		if bytes.Compare(after, prefix) > 0 {
			from = after
		}
		if n = r.table.seek(from, nil); n != nil && bytes.Equal(n.key, after) {
			n = n.after()
		}
	}
	err = s.view(ctx, func(b *bbolt.Bucket) error {
		records, err = mergeScan(b.Cursor(), n, prefix, after, limit)
		return err
	})
	return records, err
}

// mergeScan merges what is at the cursor and behind n; of a key that both have, n
// says what is true.
func mergeScan(c *bbolt.Cursor, n *node, prefix, after []byte, limit int) (records []Record, err error) {
	key, stored := seekAfter(c, prefix, after)
	for size := 0; len(records) < limit && size < maxScanBytes; {
		older := key != nil && bytes.HasPrefix(key, prefix)
		newer := n != nil && bytes.HasPrefix(n.key, prefix)
		var value, from []byte
		switch {
		case !older && !newer:
			return records, nil
		case newer && (!older || bytes.Compare(n.key, key) <= 0):
			from, value = n.key, n.value
			if older && bytes.Equal(n.key, key) {
				key, stored = c.Next()
			}
			n = n.after()
		default:
			if value, err = unframe(key, stored); err != nil {
				return nil, err
			}
			from = key
			key, stored = c.Next()
		}
		if len(value) > 0 {
			records = append(records, Record{Key: bytes.Clone(from), Value: bytes.Clone(value)})
			size += len(from) + len(value)
		}
	}
	return records, nil
}

// seekAfter moves a cursor to the first key with the prefix, or behind it, that is
// greater than after.
func seekAfter(c *bbolt.Cursor, prefix, after []byte) (key, stored []byte) {
	key, stored = c.Seek(prefix)
	if bytes.Compare(after, key) >= 0 {
		key, stored = c.Seek(after)
	}
	if key != nil && bytes.Equal(key, after) {
		key, stored = c.Next()
	}
	return key, stored
}
