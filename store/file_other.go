//go:build !unix

package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// A store is only kept where files can be locked and have an owner; elsewhere the
// package is good for its types.

const (
	lockShared    = 0
	lockExclusive = 1
)

func ownerOf(fs.FileInfo) (uid int, ok bool) { return 0, false }

func private(fs.FileInfo, int) error {
	return fmt.Errorf("store: %w on this system", errors.ErrUnsupported)
}

func flock(context.Context, *os.File, int) error {
	return fmt.Errorf("store: %w on this system", errors.ErrUnsupported)
}

func unlock(*os.File) error { return nil }
