//go:build unix

package tpm

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// charDevice is an open /dev/tpmrm0 or /dev/tpm0. It is non-blocking, so that
// write returns while the TPM works, and waits with poll(2): a read before the
// answer is there returns 0, which os.File takes for the end of the file.
type charDevice struct {
	mu sync.Mutex // held while fd is in use
	fd int
}

func openCharDevice(path string) (wire, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return &charDevice{fd: fd}, nil
}

func (c *charDevice) exchange(cmd []byte, deadline time.Time) ([]byte, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := retryEINTR(func() (int, error) { return unix.Write(c.fd, cmd) })
	if err != nil {
		// Kernels before 5.0 run the command within write: it may have come to
		// the error after that.
		return nil, true, os.NewSyscallError("write", err)
	}
	if n != len(cmd) {
		return nil, true, io.ErrShortWrite
	}
	if err := c.wait(deadline); err != nil {
		return nil, true, os.NewSyscallError("poll", err)
	}
	rsp := make([]byte, maxMessage)
	n, err = retryEINTR(func() (int, error) { return unix.Read(c.fd, rsp) })
	if err != nil {
		return nil, true, os.NewSyscallError("read", err)
	}
	return rsp[:n], true, nil
}

// wait returns when there is something to read, be it an error.
func (c *charDevice) wait(deadline time.Time) error {
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return os.ErrDeadlineExceeded
		}
		fds := []unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(left.Milliseconds())+1)
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// close waits for an exchange that runs: its descriptor must not be given to
// another file meanwhile.
func (c *charDevice) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = unix.Close(c.fd)
}

// retryEINTR repeats a system call that a signal interrupted before it did
// anything.
func retryEINTR(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
