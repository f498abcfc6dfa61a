//go:build unix

package api

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUserStateFolder(t *testing.T) {
	for _, c := range []struct{ xdg, home, want string }{
		{"/xdg", "/home/u", "/xdg/opmint"},
		{"", "/home/u", "/home/u/.local/state/opmint"},
		{"relative", "/home/u", "/home/u/.local/state/opmint"},
		{"/xdg", "", "/xdg/opmint"},
		{"", "", ""},
		{"relative", "relative", ""},
	} {
		env := map[string]string{"XDG_STATE_HOME": c.xdg, "HOME": c.home}
		got, err := userStateFolder(func(key string) string { return env[key] })
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("XDG_STATE_HOME=%s HOME=%s: %s, %v, want %s", c.xdg, c.home, got, err, c.want)
		}
	}
}

func TestStateFolder(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/xdg")
	want := "/xdg/opmint"
	if os.Geteuid() == 0 {
		want = "/var/lib/opmint"
	}
	if got, err := StateFolder(); err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

func TestMakeStateFolder(t *testing.T) {
	top := t.TempDir()
	path := filepath.Join(top, "a", "b", "opmint")
	if err := CheckStateFolder(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
	for range 2 {
		if err := MakeStateFolder(path + "/"); err != nil {
			t.Fatal(err)
		}
	}
	for made := path; made != top; made = filepath.Dir(made) {
		if info, err := os.Stat(made); err != nil || info.Mode() != fs.ModeDir|0o700 {
			t.Errorf("%s: %v, %v, want mode 0700", made, info.Mode(), err)
		}
	}
	link := filepath.Join(top, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := MakeStateFolder(link); err != nil {
		t.Errorf("a link to a folder: %v", err)
	}
}

func TestStateFolderRefused(t *testing.T) {
	// Somebody else's: root's for others, another's for root.
	foreign := "/"
	if os.Geteuid() == 0 {
		foreign = t.TempDir()
		if err := os.Chown(foreign, 12345, -1); err != nil {
			t.Fatal(err)
		}
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o710); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		foreign:            "run this as its owner",
		open:               "open to other users (mode 0710): chmod 700 " + open,
		file:               "not a folder",
		file + "/folder":   "not a directory",
		"":                 "no such file",
		"/proc/nothing/in": "/proc/nothing",
	} {
		for what, err := range map[string]error{"check": CheckStateFolder(path), "make": MakeStateFolder(path)} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %s: %v, want %s", what, path, err, want)
			}
		}
	}
}
