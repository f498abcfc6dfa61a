package server

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// mustListen listens and closes with the test.
func mustListen(t *testing.T, path, group string) *Listener {
	t.Helper()
	l, err := listen(path, group)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// deadSocket leaves a socket on which nobody listens.
func deadSocket(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestListenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T, path string)
		path    string
		says    string
	}{
		"a second daemon": {func(t *testing.T, path string) { mustListen(t, path, "") }, "s", "another daemon is listening"},
		"a daemon without a lock": {func(t *testing.T, path string) {
			l, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
		}, "s", "another daemon is listening"},
		"a regular file": {func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "s", "no socket"},
		"a folder": {func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "s", "no socket"},
		"a symbolic link to a dead socket": {func(t *testing.T, path string) {
			deadSocket(t, path+"2")
			if err := os.Symlink(path+"2", path); err != nil {
				t.Fatal(err)
			}
		}, "s", "no socket"},
		"a file where the folder should be": {func(t *testing.T, path string) {
			if err := os.WriteFile(filepath.Dir(path), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "d/s", "not a directory"},
		"a symbolic link at the lock": {func(t *testing.T, path string) {
			if err := os.Symlink(path+"2", path+".lock"); err != nil {
				t.Fatal(err)
			}
		}, "s", "move it away"},
		"a folder at the lock": {func(t *testing.T, path string) {
			if err := os.Mkdir(path+".lock", 0o700); err != nil {
				t.Fatal(err)
			}
		}, "s", "move it away"},
		"a path too long": {func(*testing.T, string) {}, strings.Repeat("x", 108), "--socket"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.path)
			c.prepare(t, path)
			beside := entries(t, path)
			before, beforeErr := os.Lstat(path)
			l, err := listen(path, "")
			if err == nil {
				l.Close()
				t.Fatal("it listens")
			}
			if !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v: does not say %q and the path", err, c.says)
			}
			after, afterErr := os.Lstat(path)
			if (beforeErr == nil) != (afterErr == nil) || beforeErr == nil && !os.SameFile(before, after) {
				t.Errorf("was %v, is %v (%v)", before, after, afterErr)
			}
			if now := entries(t, path); !slices.Equal(now, beside) && (beforeErr != nil || before.Mode().Type() != fs.ModeSocket) {
				t.Errorf("there was %q, and is %q", beside, now)
			}
			daemon := strings.Contains(c.says, "another daemon")
			if busy := errors.Is(err, ErrLocked) || errors.Is(err, ErrListening); busy != daemon {
				t.Errorf("%v: for errors.Is a daemon is there: %t", err, busy)
			}
		})
	}
}

// entries returns what is beside path, and path.
func entries(t *testing.T, path string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestListenInNoFolder: a name of an abstract socket has no permissions.
func TestListenInNoFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{"@opmint", "\x00opmint", ""} {
		if l, err := Listen(path); err == nil {
			l.Close()
			t.Errorf("it listens on %q", path)
		}
	}
	if left := entries(t, "x"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestListenReplacesADeadSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	deadSocket(t, path)
	l := mustListen(t, path, "")
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Close: %v", err)
	}
	mustListen(t, path, "")
}

// TestCloseLeavesAnother: what has taken the socket's place is not the listener's to
// remove.
func TestCloseLeavesAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := mustListen(t, path, "")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	deadSocket(t, path)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the other socket after Close: %v", err)
	}
}

// TestListenModes: who may use the socket depends on whether its group exists,
// and not on the umask.
func TestListenModes(t *testing.T) {
	own, err := user.LookupGroupId(strconv.Itoa(os.Getegid()))
	if err != nil {
		t.Fatal(err)
	}
	for _, umask := range []int{0, 0o077, 0o777} {
		for group, want := range map[string]fs.FileMode{own.Name: 0o660, "no-such-group": 0o600} {
			path := filepath.Join(t.TempDir(), "a", "b", "s")
			old := syscall.Umask(umask)
			l, err := listen(path, group)
			if now := syscall.Umask(old); now != umask || err != nil {
				t.Fatalf("umask %o is %o afterwards, %v", umask, now, err)
			}
			for at, want := range map[string]fs.FileMode{
				path: want | fs.ModeSocket, filepath.Dir(path): 0o755 | fs.ModeDir, path + ".lock": 0o600,
			} {
				info, err := os.Lstat(at)
				if err != nil || info.Mode() != want {
					t.Errorf("umask %o, group %s: %s is %v, %v, want %v", umask, group, at, info.Mode(), err, want)
				}
			}
			l.Close()
		}
	}
}

// TestListenRace: of many that start at once, with a dead socket in the way, one
// gets the socket, and it works.
func TestListenRace(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	path := filepath.Join(t.TempDir(), "s")
	deadSocket(t, path)
	var wg sync.WaitGroup
	won := make(chan *Listener, 50)
	for range cap(won) {
		wg.Go(func() {
			if l, err := listen(path, ""); err == nil {
				won <- l
			}
		})
	}
	wg.Wait()
	close(won)
	if len(won) != 1 {
		t.Fatalf("%d got the socket", len(won))
	}
	l := <-won
	defer l.Close()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func TestServeStops(t *testing.T) {
	d := startServer(t, 0)
	idle := d.dial()
	if _, err := idle.Write([]byte(post("/v1/names"))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readAnswer(idle); err != nil {
		t.Fatal(err)
	}
	if err := d.stop(); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if _, err := os.Lstat(d.socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket after the end: %v", err)
	}
	if _, err := TakeLock(d.socket + ".lock"); err != nil {
		t.Errorf("the lock after the end: %v", err)
	}
	if n, err := idle.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("a kept connection after the end: %d, %v", n, err)
	}
}
