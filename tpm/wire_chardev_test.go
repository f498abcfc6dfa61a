package tpm

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// deviceFile is a charDevice whose other end is in the test's hands: a socket
// that keeps messages apart, as a TPM's device file does.
func deviceFile(t *testing.T) (*charDevice, int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(fds[1], false); err != nil {
		t.Fatal(err)
	}
	return &charDevice{fd: fds[0]}, fds[1]
}

// receive returns the next command that was written to a device file, or nil
// once it is closed.
func receive(fd int) []byte {
	cmd := make([]byte, maxMessage)
	n, err := retryEINTR(func() (int, error) { return unix.Read(fd, cmd) })
	if err != nil || n == 0 {
		return nil
	}
	return cmd[:n]
}

// TestCharDevice serves a device file from the reference TPM.
func TestCharDevice(t *testing.T) {
	r := sharedRig(t)
	back := r.opener
	r.opener = func(ctx context.Context) (wire, error) {
		chip, err := back(ctx)
		if err != nil {
			return nil, err
		}
		dev, fd := deviceFile(t)
		go func() {
			defer chip.close()
			defer unix.Close(fd)
			for cmd := receive(fd); cmd != nil; cmd = receive(fd) {
				rsp, _, err := chip.exchange(cmd, time.Time{})
				if err == nil {
					_, err = unix.Write(fd, rsp)
				}
				if err != nil {
					t.Error(err)
				}
			}
		}()
		return dev, nil
	}
	c, _ := r.counter()
	all := ledger{t: t}
	for range 100 {
		all.add(r.next(c))
	}
	if _, err := r.dev.EndorsementKey(t.Context(), EKOptions{}); err != nil {
		t.Error(err)
	}
	// The other ends clean up on their own time.
	if err := r.dev.Close(); err != nil {
		t.Error(err)
	}
}

func TestCharDeviceFails(t *testing.T) {
	soon := func() time.Time { return time.Now().Add(answerLimit) }
	t.Run("silence", func(t *testing.T) {
		dev, fd := deviceFile(t)
		defer unix.Close(fd)
		defer dev.close()
		if _, sent, err := dev.exchange(answer(0), time.Now()); !sent || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("sent %v, %v", sent, err)
		}
	})
	t.Run("gone", func(t *testing.T) {
		dev, fd := deviceFile(t)
		defer dev.close()
		unix.Close(fd)
		if _, sent, err := dev.exchange(answer(0), soon()); !sent || !errors.Is(err, unix.EPIPE) {
			t.Errorf("sent %v, %v", sent, err)
		}
	})
	t.Run("gone without an answer", func(t *testing.T) {
		dev, fd := deviceFile(t)
		defer dev.close()
		go func() {
			receive(fd)
			unix.Close(fd)
		}()
		l := &link{ctx: t.Context(), wire: dev}
		var failed *CommandError
		if err := readOne(l); !errors.As(err, &failed) || !failed.Sent {
			t.Errorf("an answer of no bytes: %v", err)
		}
	})
	t.Run("answer", func(t *testing.T) {
		dev, fd := deviceFile(t)
		defer unix.Close(fd)
		defer dev.close()
		want := resized(append(answer(0), make([]byte, maxMessage-headerSize)...))
		go func() {
			receive(fd)
			_, _ = unix.Write(fd, want)
		}()
		if got, sent, err := dev.exchange(answer(0), soon()); !sent || err != nil || !bytes.Equal(got, want) {
			t.Errorf("got %d bytes, sent %v, %v", len(got), sent, err)
		}
	})
}

func TestOpenCharDevice(t *testing.T) {
	if _, err := openCharDevice(filepath.Join(t.TempDir(), "none")); !errors.Is(err, unix.ENOENT) {
		t.Errorf("a missing device: %v", err)
	}
	d, err := Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	// It takes each command and answers none.
	var failed *CommandError
	if _, err := d.Properties(t.Context()); !errors.As(err, &failed) || !failed.Sent {
		t.Errorf("properties of %s: %v", d, err)
	}
}
