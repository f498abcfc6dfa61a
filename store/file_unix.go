//go:build unix

package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// How flock locks a file: together with others that read it, or alone.
const (
	lockShared    = syscall.LOCK_SH
	lockExclusive = syscall.LOCK_EX
)

// ownerOf returns the uid that owns a file, if that is known.
func ownerOf(info fs.FileInfo) (uid int, ok bool) {
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(sys.Uid), true
}

// private returns ErrForeign unless the file is a file of this user's that no
// other user may read or write.
func private(info fs.FileInfo, user int) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: not a regular file but %s", ErrForeign, info.Mode())
	}
	if owner, ok := ownerOf(info); !ok || owner != user {
		return fmt.Errorf("%w: not owned by uid %d, which this process runs as: chown it, or run as its owner",
			ErrForeign, user)
	}
	if mode := info.Mode().Perm(); mode&^fileMode != 0 {
		return fmt.Errorf("%w: mode %#o lets others in: make sure that nobody changed it, then chmod %#o",
			ErrForeign, mode, fileMode)
	}
	return nil
}

// flock locks the file until it is closed: against all other openers, or, with
// lockShared, against those that write.
func flock(ctx context.Context, file *os.File, how int) error {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	for {
		err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("lock: %w", err)
		}
		select {
		case <-time.After(lockPoll):
		case <-ctx.Done():
			return fmt.Errorf("%w: stop the process that has it open, such as another opmintd", ErrInUse)
		}
	}
}

// unlock gives a locked file back, though something else may still have it open.
func unlock(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_UN) }
