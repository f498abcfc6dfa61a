package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"
)

// maxScanBytes ends an answer of Scan once it is longer than this.
const maxScanBytes = 4 << 20

// Bolt is a Store in a bbolt file. Open makes one.
type Bolt struct {
	db       *bbolt.DB
	file     *os.File
	recent   *recent               // what the log has; nil without one
	commitTx func(*bbolt.Tx) error // (*bbolt.Tx).Commit, but in tests of its failures

	state  atomic.Pointer[state] // replaced only by who has the turn
	turn   chan struct{}         // holds a token while somebody has the turn to write
	broken bool                  // bbolt panicked in a write and still holds its locks; belongs to the turn

	mu      sync.Mutex
	waiting []*request // who waits for the next transaction; guarded by mu
}

var _ Store = (*Bolt)(nil)

// state is what readers must know of the writer. It never changes.
type state struct {
	durable int           // the last transaction known to be on disk
	err     error         // why nothing is answered any more: ErrStopped, ErrClosed; else nil
	next    chan struct{} // closed once another state has taken this one's place
}

// Get implements Store.
func (s *Bolt) Get(ctx context.Context, key []byte) ([]byte, error) {
	if err := ValidKey(key); err != nil {
		return nil, err
	}
	value, err := s.get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	return value, nil
}

// Scan implements Store.
func (s *Bolt) Scan(ctx context.Context, prefix, after []byte, limit int) ([]Record, error) {
	if err := ValidScan(prefix, after, limit); err != nil {
		return nil, err
	}
	records, err := s.scan(ctx, prefix, after, limit)
	if err != nil {
		return nil, fmt.Errorf("scan: %w", err)
	}
	return records, nil
}

// view runs read on the records as of the newest transaction, and returns once
// that transaction is durable: bbolt shows a transaction to readers before its
// last sync, and what is read must not be lost by a power cut. Bytes from
// the bucket are valid in read only.
func (s *Bolt) view(ctx context.Context, read func(*bbolt.Bucket) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	seen := 0
	err := guard(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			seen = tx.ID()
			return read(tx.Bucket(recordsBucket))
		})
	})
	for {
		now := s.state.Load()
		switch {
		case now.err != nil:
			return now.err
		case seen <= now.durable:
			return err
		}
		select {
		case <-now.next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// guard runs f, which uses bbolt. Where bbolt meets a damaged page it panics,
// or reads beyond the file, which raises a fault: both become ErrDamaged.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: bbolt: %v", ErrDamaged, r)
		}
	}()
	return f()
}

// become makes the given state the current one.
func (s *Bolt) become(durable int, err error) {
	before := s.state.Swap(&state{durable: durable, err: err, next: make(chan struct{})})
	if before != nil {
		close(before.next)
	}
}

// Close implements Store. It also writes what the log has to the file, and the list
// of free pages, so that the next Open need not rebuild it.
func (s *Bolt) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	before := s.state.Load().err
	if errors.Is(before, ErrClosed) {
		return nil
	}
	var err error
	if before == nil && s.recent != nil {
		err = s.writeRecent()
	}
	if before == nil && err == nil {
		s.db.NoFreelistSync = false
		err = s.write(func(*bbolt.Tx) (wrote bool, err error) { return true, nil })
	}
	if s.recent != nil {
		if before == nil && err == nil {
			err = s.recent.log.begin(uint64(s.state.Load().durable))
		}
		err = errors.Join(err, s.recent.log.close())
	}
	s.become(s.state.Load().durable, ErrClosed)
	if s.broken {
		err = errors.Join(err, s.abandon())
	} else {
		err = errors.Join(err, s.db.Close())
	}
	if err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

// abandon gives the file back where bbolt cannot: its Close would wait for
// ever for the locks of a write that panicked. The mapping of the file, which
// readers may still use, stays until the process ends.
func (s *Bolt) abandon() error {
	return errors.Join(unlock(s.file), s.file.Close())
}
