package tpm

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-tpm/tpm2"
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
		if err := flushOne(l); !errors.As(err, &failed) || !failed.Sent {
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

// TestStream has a peer that answers byte by byte, then badly.
func TestStream(t *testing.T) {
	rsp := resized(append(answer(0), 1, 2, 3))
	for _, test := range []struct {
		name   string
		answer []byte
		ok     bool
	}{
		{"whole", rsp, true},
		{"nothing", nil, false},
		{"half a header", rsp[:5], false},
		{"header only", rsp[:headerSize], false},
		{"too long", binary.BigEndian.AppendUint32([]byte{0x80, 1, 0, 0, 0x10, 1}, 0), false},
		{"too short", binary.BigEndian.AppendUint32([]byte{0x80, 1, 0, 0, 0, 9}, 0), false},
		{"negative", binary.BigEndian.AppendUint32([]byte{0x80, 1, 0xFF, 0xFF, 0xFF, 0xFF}, 0), false},
	} {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			if _, err := io.ReadFull(theirs, make([]byte, headerSize)); err != nil {
				t.Error(err)
			}
			for _, b := range test.answer {
				if _, err := theirs.Write([]byte{b}); err != nil {
					return
				}
			}
		}()
		got, sent, err := stream{ours}.exchange(answer(0), time.Now().Add(answerLimit))
		if !sent || (err == nil) != test.ok || test.ok && !bytes.Equal(got, rsp) {
			t.Errorf("%s: %x, sent %v, %v", test.name, got, sent, err)
		}
		stream{ours}.close()
	}
	ours, theirs := net.Pipe()
	theirs.Close()
	if _, sent, err := (stream{ours}).exchange(answer(0), time.Now().Add(answerLimit)); sent || err == nil {
		t.Errorf("to a closed peer: sent %v, %v", sent, err)
	}
}

// TestDialRefused waits for a TPM that is being restarted, and not for ever.
func TestDialRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	synctest.Test(t, func(t *testing.T) {
		d, err := Open("unix:" + path)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = d.Properties(t.Context())
		if !errors.Is(err, unix.ECONNREFUSED) || !errors.Is(err, ErrBusy) || time.Since(began) > connectLimit {
			t.Errorf("nobody listens: %v after %v", err, time.Since(began))
		}
		began = time.Now()
		d, err = Open("unix:" + path + "-none")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Properties(t.Context()); !errors.Is(err, unix.ENOENT) || time.Since(began) > 0 {
			t.Errorf("no socket: %v after %v", err, time.Since(began))
		}
	})
}

// TestTCP speaks over TCP with what speaks over a Unix socket.
func TestTCP(t *testing.T) {
	r := referenceRig(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			chip, err := r.opener(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			serve(conn, chip)
		}
	}()
	if r.dev, err = Open("tcp:" + l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.dev.Properties(t.Context()); err != nil {
		t.Error(err)
	}
}

// serve answers the commands on a connection, which are short here.
func serve(conn net.Conn, chip wire) {
	defer chip.close()
	defer conn.Close()
	cmd := make([]byte, maxMessage)
	for {
		n, err := conn.Read(cmd)
		if err != nil {
			return
		}
		rsp, _, err := chip.exchange(cmd[:n], time.Time{})
		if err != nil {
			return
		}
		if _, err := conn.Write(rsp); err != nil {
			return
		}
	}
}

func TestCheckAnswer(t *testing.T) {
	plain := answer(tpm2.TPMRCSuccess) // as a command, its tag says: no sessions
	withSessions := append([]byte{0x80, 0x02}, plain[2:]...)
	for _, test := range []struct {
		name     string
		cmd, rsp []byte
		ok       bool
	}{
		{"success", plain, plain, true},
		{"success with sessions", withSessions, withSessions, true},
		{"error code", withSessions, answer(tpm2.TPMRCFailure), true},
		{"success that lost its sessions", withSessions, plain, false},
		{"sessions that nobody asked for", plain, withSessions, false},
		{"error code with sessions", withSessions, append([]byte{0x80, 0x02}, answer(tpm2.TPMRCFailure)[2:]...), false},
		{"unknown tag", plain, append([]byte{0x80, 0x03}, plain[2:]...), false},
		{"size too small", plain, append(answer(0), 0), false},
		{"size too large", plain, []byte{0x80, 0x01, 0, 0, 0, 11, 0, 0, 0, 0}, false},
		{"no header", plain, plain[:9], false},
	} {
		if err := checkAnswer(test.cmd, test.rsp); (err == nil) != test.ok {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
