package store

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.etcd.io/bbolt"
)

// Kind is what a store holds, so that none is opened in place of another.
type Kind string

// The kinds of store there are.
const (
	Journal Kind = "journal"
	Ledger  Kind = "ledger"
)

// Options are what Open must know besides the path.
type Options struct {
	// Kind must be that of the file.
	Kind Kind
	// AcceptLoss makes a lost file anew, where ErrLost is returned otherwise.
	AcceptLoss bool
}

// Open opens the store in the file at path. If there never was one it makes
// it, and missing folders with mode 0700. When Open returns, all that can be
// read is on disk and has been verified.
//
//	ErrLost      path does not exist, but path.created does; or its log does not
//	ErrDamaged   the file is not as it was left: other bytes, truncated, empty
//	ErrForeign   not a file, not a store, not of this kind, not owned by this
//	             user, open to others, or in a folder that everyone may change
//	ErrNewer     a newer opmint wrote it
//	ErrInUse     it is open already, in another process or in this one, and
//	             stayed so for two seconds or until the context ended
//
// Any other error is the system's, such as [syscall.EROFS], [syscall.ENOSPC]
// or [io/fs.ErrPermission]. Whatever the error, what the file held is unchanged.
func Open(ctx context.Context, path string, o Options) (*Bolt, error) {
	s, err := open(ctx, path, o)
	switch {
	case errors.Is(err, ErrDamaged):
		return nil, fmt.Errorf("open %s %s: %w: restore all of it from a backup, or, to start empty, move it and %s away",
			o.Kind, path, err, marker(path))
	case err != nil:
		return nil, fmt.Errorf("open %s %s: %w", o.Kind, path, err)
	}
	return s, nil
}

func open(ctx context.Context, path string, o Options) (*Bolt, error) {
	if o.Kind != Journal && o.Kind != Ledger {
		return nil, fmt.Errorf("%w: kind %q", ErrInvalid, o.Kind)
	}
	if err := find(ctx, path, o); err != nil {
		return nil, err
	}
	file, err := openFile(ctx, path)
	if err != nil {
		return nil, err
	}
	s, err := load(file, o.Kind)
	if err != nil {
		file.Close()
		return nil, err
	}
	if o.Kind == Ledger {
		if err := s.openLog(path, o); err != nil {
			return nil, errors.Join(err, s.db.Close())
		}
	}
	if err := mark(path); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// load makes a Bolt of a locked file.
func load(file *os.File, kind Kind) (*Bolt, error) {
	// A process that was killed may have left a transaction in the page cache
	// only: it must not be seen before it is durable.
	if err := file.Sync(); err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	// An older version would be upgraded here, in one transaction, once there
	// is one.
	newest, err := verify(file, info.Size(), kind)
	if err != nil {
		return nil, err
	}
	s := &Bolt{file: file, commitTx: (*bbolt.Tx).Commit, turn: make(chan struct{}, 1)}
	s.become(newest, nil)
	return s, guard(func() (err error) {
		s.db, err = bbolt.Open(file.Name(), fileMode, boltOptions(file))
		return err
	})
}

// boltOptions are those of a file that is locked and verified already.
func boltOptions(file *os.File) *bbolt.Options {
	return &bbolt.Options{
		OpenFile: func(string, int, os.FileMode) (*os.File, error) { return file, nil },
		PageSize: pageSize,
		// A list of free pages in the file is written with each transaction:
		// after half of a large store was purged they take 16 times as long.
		// Without it bbolt reads all of the file when it opens it, so Close
		// writes the list, and only a crash costs that time.
		NoFreelistSync: true,
		// The other type searches all free pages for each page it needs.
		FreelistType: bbolt.FreelistMapType,
		// They cost readers a lock, and nobody reads them.
		NoStatistics: true,
	}
}
