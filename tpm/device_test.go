package tpm

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

func TestClose(t *testing.T) {
	d := on(script(clock))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.operate(t.Context(), shortLimit, readOne); !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := d.Properties(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
	if d.String() != "scripted" {
		t.Errorf("String: %q", d)
	}
}

// TestCloseStuck closes a Device whose wire hangs in a command that was given up.
func TestCloseStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		freed := make(chan struct{})
		defer close(freed)
		d := on()
		d.connect = func(context.Context) (wire, error) { return stuck{freed}, nil }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := d.operate(ctx, shortLimit, readOne); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a stuck command: %v", err)
		}
		waits := make(chan error)
		go func() { waits <- d.operate(t.Context(), shortLimit, readOne) }()
		synctest.Wait()
		began := time.Now()
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if err := <-waits; !errors.Is(err, errClosed) || time.Since(began) > 0 {
			t.Errorf("an operation that waited: %v after %v", err, time.Since(began))
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ addr, says string }{
		{"", "want auto, /dev/tpmrm0"},
		{"tpmrm0", "want auto, /dev/tpmrm0"},
		{"unix:", "want auto, /dev/tpmrm0"},
		{"tcp:", "want auto, /dev/tpmrm0"},
		{"tcp:localhost", "missing port"},
		{"udp:localhost:1", "want auto, /dev/tpmrm0"},
		{file, "a socket is written unix:"},
		{"/dev/tpm-that-is-not-there", "firmware's setup"},
	} {
		if _, err := Open(test.addr); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("Open(%q): %v, want %q", test.addr, err, test.says)
		}
	}
	if _, err := Open("/dev/tpm-that-is-not-there"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing device: %v", err)
	}
}

func TestOpenErrors(t *testing.T) {
	for _, test := range []struct {
		addr string
		err  error
		says string
	}{
		{"/dev/tpmrm0", unix.EACCES, "group tss"},
		{"/dev/tpm0", unix.EBUSY, "/dev/tpmrm0 can be shared"},
		{"/dev/tpmrm0", unix.ENOENT, "firmware's setup"},
		{"unix:/run/tpm", unix.ENOENT, "software TPM running"},
		{"tcp:host:1", unix.ECONNREFUSED, "nobody answers there: is the software TPM running"},
		{"tcp:host:1", unix.ECONNRESET, "software TPM running"},
		{"/dev/tpmrm0", unix.EIO, "open TPM /dev/tpmrm0"},
	} {
		if err := cannotOpen(test.addr, test.err); !errors.Is(err, test.err) || !strings.Contains(err.Error(), test.says) ||
			strings.Contains(err.Error(), "firmware") && !strings.HasPrefix(test.addr, "/") {
			t.Errorf("%s, %v: %q, want %q in it", test.addr, test.err, err, test.says)
		}
	}
}

// TestWhoCleansUp tells the kernel's resource manager from a bare device.
func TestWhoCleansUp(t *testing.T) {
	for name, managed := range map[string]bool{"tpmrm0": true, "tpmrm12": true, "tpm0": false} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.Symlink(os.DevNull, path); err != nil {
			t.Fatal(err)
		}
		d, err := Open(path)
		if err != nil || d.managed != managed {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}
