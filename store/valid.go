package store

import (
	"bytes"
	"fmt"
)

// ValidKey returns ErrInvalid for a key that no store takes. This and the
// next two are for implementations, so that all refuse the same.
func ValidKey(key []byte) error {
	if len(key) == 0 || len(key) > MaxKey {
		return fmt.Errorf("%w: a key of %d bytes: must be 1 to %d", ErrInvalid, len(key), MaxKey)
	}
	return nil
}

// ValidScan returns ErrInvalid for arguments of Scan that no store takes.
func ValidScan(prefix, after []byte, limit int) error {
	if len(prefix) > MaxKey || len(after) > MaxKey {
		return fmt.Errorf("%w: scan by a prefix of %d bytes after a key of %d: must be at most %d",
			ErrInvalid, len(prefix), len(after), MaxKey)
	}
	if limit < 1 || limit > MaxScan {
		return fmt.Errorf("%w: scan with limit %d: must be 1 to %d", ErrInvalid, limit, MaxScan)
	}
	return nil
}

// ValidCommit returns ErrInvalid for arguments of Commit that no store takes,
// else their size: the bytes of all keys and values.
func ValidCommit(checks []Check, writes []Write) (size int, err error) {
	if n := len(checks) + len(writes); n > MaxOps {
		return 0, fmt.Errorf("%w: commit of %d checks and writes: must be at most %d", ErrInvalid, n, MaxOps)
	}
	for _, c := range checks {
		if err := validPair(c.Key, c.Value); err != nil {
			return 0, err
		}
		size += len(c.Key) + len(c.Value)
	}
	ascending := true // so none is there twice
	for i, w := range writes {
		if err := validPair(w.Key, w.Value); err != nil {
			return 0, err
		}
		size += len(w.Key) + len(w.Value)
		ascending = ascending && (i == 0 || bytes.Compare(writes[i-1].Key, w.Key) < 0)
	}
	if !ascending && twice(writes) {
		return 0, fmt.Errorf("%w: commit writes one key twice", ErrInvalid)
	}
	if size > MaxCommit {
		return 0, fmt.Errorf("%w: commit of %d bytes: must be at most %d", ErrInvalid, size, MaxCommit)
	}
	return size, nil
}

func validPair(key, value []byte) error {
	if err := ValidKey(key); err != nil {
		return err
	}
	if len(value) > MaxValue {
		return fmt.Errorf("%w: a value of %d bytes: must be at most %d", ErrInvalid, len(value), MaxValue)
	}
	return nil
}

// twice reports whether a key is written twice.
func twice(writes []Write) bool {
	written := make(map[string]struct{}, len(writes))
	for _, w := range writes {
		written[string(w.Key)] = struct{}{}
	}
	return len(written) < len(writes)
}
