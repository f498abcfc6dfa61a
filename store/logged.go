package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"

	"go.etcd.io/bbolt"
)

// maxLogged is how many bytes of keys and values a log holds, about, before they are
// written to the bbolt file.
const maxLogged = 8 << 20

// recent is what was committed to a store with a log since its bbolt file was
// written: durable in the log, and read from memory.
type recent struct {
	log *logFile
	max int // maxLogged, but in tests

	mu    sync.RWMutex // held to read table and what is beneath it as of one moment
	table *memtable    // changed only by who has the turn
}

// openLog opens the log of a store whose bbolt file is s, or makes it if nobody has
// opened the store before, or the loss is accepted.
func (s *Bolt) openLog(path string, o Options) error {
	marked, err := exists(marker(path))
	if err != nil {
		return err
	}
	there, err := exists(logPath(path))
	if err != nil {
		return err
	}
	fresh := !marked || !there && o.AcceptLoss
	flags := os.O_RDWR
	if fresh {
		flags |= os.O_CREATE
	}
	file, err := os.OpenFile(logPath(path), flags, fileMode)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %s is not there, and has what was last written: restore both from one backup, or start empty",
			ErrLost, logPath(path))
	}
	if err != nil {
		return err
	}
	s.recent = &recent{log: useLog(file), max: maxLogged, table: newMemtable()}
	err = s.recent.load(file, fresh, uint64(s.state.Load().durable))
	if err == nil && fresh {
		err = syncFolder(path)
	}
	if err != nil {
		file.Close()
		s.recent = nil
	}
	return err
}

// load reads what the log has to add to a bbolt file with that newest transaction.
func (r *recent) load(file *os.File, fresh bool, base uint64) error {
	info, err := file.Stat()
	if err == nil {
		err = private(info, os.Geteuid())
	}
	if err != nil {
		return err
	}
	if fresh {
		return r.log.begin(base)
	}
	// A process that was killed may have left entries in the page cache only.
	if err := file.Sync(); err != nil {
		return err
	}
	return r.read(info.Size(), base)
}

// read reads a log of that size, which belongs to a file with that newest transaction.
func (r *recent) read(size int64, base uint64) error {
	entries, written := 0, false
	err := r.log.load(size, func(body []byte) error {
		entries++
		written = len(body) == 0
		return eachWrite(body, func(w Write) { r.table.put(bytes.Clone(w.Key), bytes.Clone(w.Value)) })
	})
	if err != nil {
		return err
	}
	return r.fits(base, entries, written)
}

// fits checks that log and bbolt file belong together. The file is where it was when
// the log began, unless the log says that it was being written, or is empty: then it
// may be one transaction further, or two if it was closed before a crash came.
func (r *recent) fits(base uint64, entries int, written bool) error {
	ahead := uint64(0)
	if written || entries == 0 {
		ahead = 2
	}
	if base < r.log.base || base > r.log.base+ahead {
		return fmt.Errorf("%w: the log is of transaction %d, and the file of %d: they are of different times",
			ErrDamaged, r.log.base, base)
	}
	return nil
}

// transactLogged applies those requests of the batch whose checks hold, one after the
// other, as one entry of the log, and sets err in the others.
func (s *Bolt) transactLogged(batch []*request) error {
	r := s.recent
	if r.table.size >= r.max || r.log.end >= 2*int64(r.max) {
		if err := s.writeRecent(); err != nil {
			return err
		}
	}
	size := 0
	for _, request := range batch {
		size += request.size + 8*len(request.writes)
	}
	body := make([]byte, 0, size)
	writes := map[string][]byte{} // those that a later request of the batch may meet
	err := guard(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			records := tx.Bucket(recordsBucket)
			for i, request := range batch {
				if request.err = r.hold(records, writes, request.checks); request.err != nil {
					continue
				}
				for _, w := range request.writes {
					if i+1 < len(batch) {
						writes[string(w.Key)] = w.Value
					}
					body = appendWrite(body, w)
				}
			}
			return nil
		})
	})
	if err != nil || len(body) == 0 {
		return err
	}
	if err := r.log.grow(entrySize(len(body))); err != nil {
		return err
	}
	if err := r.log.append(body); err != nil {
		s.become(s.state.Load().durable, fmt.Errorf("%w: %w", ErrStopped, err))
		return fmt.Errorf("%w: append to the log: %w", ErrOutcomeUnknown, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return eachWrite(body, func(w Write) { r.table.put(w.Key, w.Value) })
}

// hold is the like of hold for what is in the log too, and in this transaction.
func (r *recent) hold(records *bbolt.Bucket, writes map[string][]byte, checks []Check) error {
	for i, c := range checks {
		value, known := writes[string(c.Key)]
		if !known {
			value, known = r.table.get(c.Key)
		}
		if !known {
			if err := hold(records, checks[i:i+1]); err != nil {
				if errors.Is(err, ErrConflict) {
					err = &ConflictError{Check: i}
				}
				return err
			}
			continue
		}
		if !bytes.Equal(value, c.Value) {
			return &ConflictError{Check: i}
		}
	}
	return nil
}

// writeRecent writes to the bbolt file what the log has, and begins the log anew. It
// needs the turn. If it fails the log still has it all.
func (s *Bolt) writeRecent() error {
	r := s.recent
	if r.table.first() == nil {
		return nil
	}
	if err := r.log.grow(entrySize(0)); err != nil {
		return err
	}
	if err := r.log.append(nil); err != nil {
		s.become(s.state.Load().durable, fmt.Errorf("%w: %w", ErrStopped, err))
		return fmt.Errorf("append to the log: %w", err)
	}
	err := s.write(func(tx *bbolt.Tx) (wrote bool, err error) {
		b := tx.Bucket(recordsBucket)
		b.FillPercent = fillPercent
		sum := b.Sequence()
		for n := r.table.first(); n != nil; n = n.after() {
			if err := apply(b, Write{Key: n.key, Value: n.value}, &sum); err != nil {
				return false, err
			}
		}
		return true, b.SetSequence(sum)
	})
	if err != nil {
		return fmt.Errorf("write what the log has: %w", err)
	}
	if err := r.log.begin(uint64(s.state.Load().durable)); err != nil {
		s.become(s.state.Load().durable, fmt.Errorf("%w: %w", ErrStopped, err))
		return fmt.Errorf("begin the log anew: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.table = newMemtable()
	return nil
}
