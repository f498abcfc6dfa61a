package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/opmint/opmint/api"
)

// Group is whose members may use the socket, besides its owner and root.
const Group = "opmint"

// ErrListening says that somebody listens on a socket who has no lock on it, such as
// systemd, or a daemon that it started.
var ErrListening = errors.New("another daemon is listening there")

// Listen makes a socket at path, which is the caller's until it closes the
// listener. A folder that is missing is made, with mode 0755. The socket has mode
// 0660 and the group opmint, or mode 0600 where that group does not exist or the
// caller may not give it the socket.
//
// A socket on which nobody listens any more is replaced. One on which somebody
// does (ErrListening), and anything that is no socket, is left alone. What keeps
// two daemons that start at once apart is a lock on the file path.lock (ErrLocked).
//
// Listen changes the umask of the process for a moment, so it must not run beside
// anything else that makes files.
func Listen(path string) (*Listener, error) { return listen(path, Group) }

// Listener is a socket, and the lock on one that is the daemon's own.
type Listener struct {
	*net.UnixListener
	Activated bool // systemd made it, and keeps it
	Replaced  bool // a dead socket was in its place: its daemon did not end in order

	lock *Lock       // nil if systemd made it
	made fs.FileInfo // the socket, as it was made; nil if it cannot be seen
}

// Close removes the socket, unless it is systemd's or something else has taken its
// place, and gives up the lock.
func (l *Listener) Close() error {
	if l.Activated {
		return l.UnixListener.Close()
	}
	l.SetUnlinkOnClose(l.lost() == nil)
	return errors.Join(l.UnixListener.Close(), l.lock.Release())
}

// errLost says that clients do not find the daemon any more.
var errLost = errors.New("no client can find the daemon any more")

// lost returns errLost if the socket's path does not lead to it any more, and why.
func (l *Listener) lost() error {
	if l.made == nil {
		return nil
	}
	path := l.Addr().String()
	now, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("socket %s was removed: %w", path, errLost)
	case err == nil && !os.SameFile(l.made, now):
		return fmt.Errorf("something else has taken the place of socket %s: %w", path, errLost)
	}
	return nil
}

func listen(path, group string) (*Listener, error) {
	if err := api.CheckSocket(path); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	// What is no socket gets no lock beside it. Only under the lock is it certain what
	// is there.
	if _, err := socketAt(path); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	defer syscall.Umask(syscall.Umask(0o022))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("listen on %s: make its folder: %w", path, err)
	}
	lock, err := TakeLock(path + ".lock")
	if errors.Is(err, ErrLocked) {
		return nil, fmt.Errorf("listen on %s: another daemon is listening there, or about to: %w", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l, dead, err := bind(path, group)
	if err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	made, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %s: %w", path, err), l.Close(), lock.Release())
	}
	return &Listener{UnixListener: l, Replaced: dead, lock: lock, made: made}, nil
}

// bind makes the socket, in place of a dead one if there is one.
func bind(path, group string) (l *net.UnixListener, dead bool, err error) {
	dead, err = deadSocketAt(path)
	if err == nil && dead {
		err = os.Remove(path)
	}
	if err != nil {
		return nil, dead, fmt.Errorf("listen on %s: %w", path, err)
	}
	// Nobody else gets in before the group is the right one.
	syscall.Umask(0o177)
	l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, dead, fmt.Errorf("listen on %s: %w", path, err)
	}
	if err := share(path, group); err != nil {
		return nil, dead, errors.Join(err, l.Close())
	}
	return l, dead, nil
}

// socketAt reports whether there is a socket at path. Anything else is an error.
func socketAt(path string) (bool, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case info.Mode().Type() != fs.ModeSocket:
		return false, fmt.Errorf("there is something that is no socket (%v): move it away, or say another path with --socket",
			info.Mode())
	}
	return true, nil
}

// deadSocketAt reports whether there is a dead socket at path. Whatever else is there
// is an error.
func deadSocketAt(path string) (bool, error) {
	if there, err := socketAt(path); !there {
		return false, err
	}
	c, err := net.Dial("unix", path)
	switch {
	case err == nil:
		c.Close()
		return false, fmt.Errorf("%w: stop it, or say another path with --socket", ErrListening)
	case errors.Is(err, syscall.EAGAIN):
		return false, fmt.Errorf("%w, and busy: stop it, or say another path with --socket", ErrListening)
	case !errors.Is(err, syscall.ECONNREFUSED):
		return false, fmt.Errorf("there is a socket, and whether it is in use cannot be told: %w", err)
	}
	return true, nil
}

// share lets the group use the socket, if there is one by that name and we may.
func share(path, group string) error {
	g, err := user.LookupGroup(group)
	if _, unknown := errors.AsType[user.UnknownGroupError](err); unknown || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up the group %s, for the socket: %w", group, err)
	}
	gid, err := strconv.Atoi(g.Gid)
	if err != nil {
		return fmt.Errorf("the group %s has the id %q: %w", group, g.Gid, err)
	}
	if err := os.Chown(path, -1, gid); errors.Is(err, fs.ErrPermission) {
		return nil
	} else if err != nil {
		return fmt.Errorf("give the socket to the group %s: %w", group, err)
	}
	if err := os.Chmod(path, 0o660); err != nil {
		return fmt.Errorf("let the group %s use the socket: %w", group, err)
	}
	return nil
}
