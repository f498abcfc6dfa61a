package server

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrLocked says that another process holds a lock.
var ErrLocked = errors.New("locked by another process")

// Lock is a lock on a file, which ends with the process at the latest.
type Lock struct{ file *os.File }

// TakeLock locks the file at path, which it makes if need be, with mode 0600. It
// does not wait: a lock that somebody else has is ErrLocked. The file stays when
// the lock is released, for if it were removed two could hold locks on files of
// that name.
func TakeLock(path string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ELOOP) {
		err = fmt.Errorf("%w: it is no regular file: move it away", err)
	}
	if err != nil {
		return nil, fmt.Errorf("open a lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrLocked
		}
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return &Lock{file}, nil
}

// Release gives up the lock.
func (l *Lock) Release() error { return l.file.Close() }
