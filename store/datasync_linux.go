package store

import (
	"os"
	"syscall"
)

// datasync makes the bytes of a file durable, and not when they were changed.
func datasync(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return err
		}
	}
}
