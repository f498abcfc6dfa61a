package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"go.etcd.io/bbolt"
)

// fillPercent is how full bbolt leaves a page that it splits. Names come in
// ascending order, for which bbolt's default of 0.5 leaves every page half
// empty; keys in random order want just that. Measured for a million records
// of 200 bytes, ascending and random: 0.5 408 and 365 MiB, 0.75 272 and 424,
// 0.9 229 and 576.
const fillPercent = 0.75

// request is one Commit on its way.
type request struct {
	checks []Check
	writes []Write
	size   int
	taken  bool  // it is part of a transaction, or refused; guarded by Bolt.mu
	err    error // the outcome, once done is closed
	done   chan struct{}
}

// Commit implements Store. Those who call it while a transaction is under way
// wait for their turn together; the first to get it writes for all of them.
func (s *Bolt) Commit(ctx context.Context, checks []Check, writes []Write) error {
	size, err := ValidCommit(checks, writes)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	r := &request{checks: checks, writes: writes, size: size, done: make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, r)
	s.mu.Unlock()

	select {
	case s.turn <- struct{}{}:
		s.lead(r)
		<-s.turn
	case <-r.done:
	case <-ctx.Done():
		if s.withdraw(r) {
			return fmt.Errorf("commit: withdrawn before its turn: %w", ctx.Err())
		}
	}
	<-r.done
	if r.err != nil {
		return fmt.Errorf("commit: %w", r.err)
	}
	return nil
}

// lead runs transactions until r was in one. It needs the turn.
func (s *Bolt) lead(r *request) {
	// Whom the former transaction answered may be about to commit again. Let
	// them join in, or else transactions of one alternate with those of all.
	runtime.Gosched()
	for {
		s.mu.Lock()
		if r.taken {
			s.mu.Unlock()
			return
		}
		batch := s.take()
		s.mu.Unlock()
		s.run(batch)
	}
}

// take removes from those who wait as many as one transaction may carry, at
// least one. It needs mu.
func (s *Bolt) take() []*request {
	n, size := 0, 0
	for n < len(s.waiting) && (n == 0 || size+s.waiting[n].size <= MaxCommit) {
		s.waiting[n].taken = true
		size += s.waiting[n].size
		n++
	}
	batch := s.waiting[:n:n]
	s.waiting = s.waiting[n:]
	return batch
}

// withdraw takes r out of those who wait, and says whether it was still there.
func (s *Bolt) withdraw(r *request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.taken {
		return false
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(other *request) bool { return other == r })
	return true
}

// run commits the batch in one transaction and hands out the outcomes. It
// needs the turn.
func (s *Bolt) run(batch []*request) {
	err := s.state.Load().err
	switch {
	case err != nil:
	case s.recent != nil:
		err = s.transactLogged(batch)
	default:
		err = s.transact(batch)
	}
	refused := err
	if errors.Is(err, ErrOutcomeUnknown) {
		refused = s.state.Load().err
	}
	for _, r := range batch {
		switch {
		case r.err == nil:
			r.err = err
		case err != nil:
			// Not in the transaction, so it failed for certain. But what it
			// was refused for may be something that has not happened either.
			r.err = refused
		}
		close(r.done)
	}
}

// transact applies those requests of the batch whose checks hold, one after
// the other, as one transaction, and sets err in the others. It returns the
// outcome of the transaction.
func (s *Bolt) transact(batch []*request) error {
	return s.write(func(tx *bbolt.Tx) (wrote bool, err error) {
		return applyAll(tx.Bucket(recordsBucket), batch)
	})
}

// write commits what change does, if it wrote anything. It needs the turn.
//
// It avoids bbolt's Update, which after a panic reads the whole file for its
// free pages in another goroutine, where the next panic ends the process. A
// write that fails does the same, but meets no damage unless it is younger
// than Open.
func (s *Bolt) write(change func(*bbolt.Tx) (wrote bool, err error)) error {
	id := s.state.Load().durable
	err := guard(func() error {
		tx, err := s.db.Begin(true)
		if err != nil {
			return err
		}
		wrote, err := change(tx)
		if err != nil || !wrote {
			return errors.Join(err, tx.Rollback())
		}
		id = tx.ID()
		return s.commitTx(tx)
	})
	if err != nil {
		return s.failed(id, err)
	}
	s.become(id, nil)
	return nil
}

// failed returns the outcome of transaction id after err. Up to the write of
// its meta page, which is the last, a transaction has changed nothing that a
// reader or a restart would look at: a full disk, say, is no reason to stop.
// Once that page may have been written nobody knows whether it got to the disk.
func (s *Bolt) failed(id int, err error) error {
	newest := 0
	unreadable := guard(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			newest = tx.ID()
			return nil
		})
	})
	durable := s.state.Load().durable
	unknown := unreadable != nil || newest != durable
	s.broken = errors.Is(err, ErrDamaged)
	if unknown || s.broken {
		s.become(durable, fmt.Errorf("%w: %w", ErrStopped, err))
	}
	if unknown {
		return fmt.Errorf("%w: transaction %d: %w", ErrOutcomeUnknown, id, err)
	}
	return err
}

// applyAll says whether there is anything to commit. It keeps in the bucket's
// sequence number the sum of all checksums: see verifier.records.
func applyAll(b *bbolt.Bucket, batch []*request) (wrote bool, err error) {
	b.FillPercent = fillPercent
	sum := b.Sequence()
	for _, r := range batch {
		if r.err = hold(b, r.checks); r.err != nil {
			continue
		}
		for _, w := range r.writes {
			if err := apply(b, w, &sum); err != nil {
				return false, err
			}
			wrote = true
		}
	}
	if !wrote {
		return false, nil
	}
	return true, b.SetSequence(sum)
}

// apply writes w and keeps up the sum of all checksums.
func apply(b *bbolt.Bucket, w Write, sum *uint64) error {
	*sum -= storedSum(b.Get(w.Key))
	if len(w.Value) == 0 {
		return b.Delete(w.Key)
	}
	stored := frame(w.Key, w.Value)
	*sum += storedSum(stored)
	return b.Put(w.Key, stored)
}

// hold returns a ConflictError for the first of the checks that does not hold.
func hold(b *bbolt.Bucket, checks []Check) error {
	for i, c := range checks {
		stored := b.Get(c.Key)
		if stored == nil {
			if len(c.Value) > 0 {
				return &ConflictError{Check: i}
			}
			continue
		}
		value, err := unframe(c.Key, stored)
		if err != nil {
			return err
		}
		if !bytes.Equal(value, c.Value) {
			return &ConflictError{Check: i}
		}
	}
	return nil
}
