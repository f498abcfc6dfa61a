//go:build unix

package tpm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockFolder makes sure that one process at a time defines an index from a state
// folder: two that draw index.auth at once would define the index with one value
// and keep the other. The lock ends with the process.
func lockFolder(ctx context.Context, dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(os.NewSyscallError("flock "+dir, err), f.Close())
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("%w: another process defines an index from %s: %w", ErrBusy, dir, context.Cause(ctx)), f.Close())
		}
	}
}
