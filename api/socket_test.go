package api

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOwnSocket(t *testing.T) {
	for _, c := range []struct {
		uid              int
		runtimeDir, want string
	}{
		{0, "/run/user/0", "/run/opmint/opmint.sock"},
		{0, "", "/run/opmint/opmint.sock"},
		{1000, "/run/user/1000", "/run/user/1000/opmint/opmint.sock"},
		{1000, "relative", ""},
		{1000, "", ""},
	} {
		if got := ownSocket(c.uid, c.runtimeDir); got != c.want {
			t.Errorf("uid %d, XDG_RUNTIME_DIR=%s: %q, want %q", c.uid, c.runtimeDir, got, c.want)
		}
	}
}

func TestCheckSocket(t *testing.T) {
	for path, says := range map[string]string{
		"/run/opmint/opmint.sock": "", "./@foo": "", strings.Repeat("x", 107): "",
		"": "empty", "@foo": "./", "\x00foo": "./", strings.Repeat("x", 108): "108 bytes",
	} {
		err := CheckSocket(path)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want it to say %q", path, err, says)
		}
	}
}

func TestSocketsFromTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	t.Setenv(SocketVariable, "")
	own := ownSocket(os.Geteuid(), dir)
	if got, err := DaemonSocket(); err != nil || got != own {
		t.Errorf("the daemon takes %s, %v, want %s", got, err, own)
	}
	if got := ClientSocket(); got != "/run/opmint/opmint.sock" {
		t.Errorf("without a socket of one's own the client takes %s", got)
	}
	if os.Geteuid() != 0 { // root's own is the system's
		if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(own, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := ClientSocket(); got != own {
			t.Errorf("with a socket of one's own the client takes %s", got)
		}
	}
	t.Setenv(SocketVariable, "/elsewhere/s")
	if got, err := DaemonSocket(); err != nil || got != "/elsewhere/s" {
		t.Errorf("told where, the daemon takes %s, %v", got, err)
	}
	if got := ClientSocket(); got != "/elsewhere/s" {
		t.Errorf("told where, the client takes %s", got)
	}
}
