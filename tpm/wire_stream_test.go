package tpm

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-tpm/tpm2"
	"golang.org/x/sys/unix"
)

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
		if !errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, ErrBusy) || time.Since(began) > restartLimit+longPause {
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

// TestDialFullQueue waits for a TPM that serves another client, whose queue is
// full, and not for ever.
func TestDialFullQueue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	waiting, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.Close()
	synctest.Test(t, func(t *testing.T) {
		d, err := Open("unix:" + path)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = d.Properties(t.Context())
		if !errors.Is(err, ErrBusy) || !errors.Is(err, unix.EAGAIN) || time.Since(began) > connectLimit {
			t.Errorf("a full queue: %v after %v", err, time.Since(began))
		}
	})
}

// TestHeldSocket connects to a TPM that serves another client: it takes the
// connection and no command.
func TestHeldSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := 0
		d := on()
		d.managed, d.single = false, true
		d.connect = func(context.Context) (wire, error) {
			held++
			ours, _ := net.Pipe()
			return stream{ours}, nil
		}
		began := time.Now()
		_, err := d.Properties(t.Context())
		if !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "another program holds the connection") ||
			time.Since(began) > connectLimit || held != 1 {
			t.Errorf("a held socket: %v after %v, %d connections", err, time.Since(began), held)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := d.Properties(ctx); errors.Is(err, ErrBusy) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a held socket, and no time: %v", err)
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
