package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/opmint/opmint/store"
)

// ErrDiffers is wrapped by the error of Compare for ledgers that are not the same.
var ErrDiffers = errors.New("the ledgers differ")

// Compare reports as ErrDiffers which records of two ledgers are not the same, the
// first few of them. When they will be looked at for what is to be purged may differ.
// Nobody may write to either store meanwhile.
func Compare(ctx context.Context, a, b store.Store) error {
	left, right := &cursor{ctx: ctx, store: a}, &cursor{ctx: ctx, store: b}
	var differ []error
	for len(differ) < 8 {
		l, err := left.peek()
		if err != nil {
			return fmt.Errorf("compare ledgers: %w", err)
		}
		r, err := right.peek()
		if err != nil {
			return fmt.Errorf("compare ledgers: %w", err)
		}
		if l == nil && r == nil {
			break
		}
		order := compareKeys(l, r)
		switch {
		case order < 0:
			differ = append(differ, fmt.Errorf("%w: %q is only in the first", ErrDiffers, l.Key))
		case order > 0:
			differ = append(differ, fmt.Errorf("%w: %q is only in the second", ErrDiffers, r.Key))
		case !bytes.Equal(l.Value, r.Value):
			differ = append(differ, fmt.Errorf("%w: %q is %x in the first and %x in the second", ErrDiffers, l.Key, l.Value, r.Value))
		}
		if order <= 0 {
			left.skip()
		}
		if order >= 0 {
			right.skip()
		}
	}
	return errors.Join(differ...)
}

// compareKeys orders records by their keys; nil is behind all.
func compareKeys(l, r *store.Record) int {
	switch {
	case l == nil:
		return 1
	case r == nil:
		return -1
	}
	return bytes.Compare(l.Key, r.Key)
}

// cursor goes through the records of a store that Compare compares.
type cursor struct {
	ctx   context.Context
	store store.Store
	read  []store.Record
	after []byte
	end   bool
}

func (c *cursor) skip() { c.read = c.read[1:] }

// peek returns the next record, nil at the end.
func (c *cursor) peek() (*store.Record, error) {
	for {
		if len(c.read) == 0 && !c.end {
			var err error
			if c.read, err = c.store.Scan(c.ctx, nil, c.after, 1000); err != nil {
				return nil, err
			}
			if c.end = len(c.read) == 0; !c.end {
				c.after = c.read[len(c.read)-1].Key
			}
		}
		if c.end {
			return nil, nil
		}
		switch r := &c.read[0]; r.Key[0] {
		case kindVisit:
			c.skip()
		case kindScope:
			s := &scope{}
			if err := decode(r.Value, s); err != nil {
				return nil, fmt.Errorf("record %q: %w", r.Key, err)
			}
			s.visit = 0
			r.Value = encode(s)
			return r, nil
		default:
			return r, nil
		}
	}
}
