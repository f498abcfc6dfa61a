package server

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/coreos/go-systemd/v22/activation"
	"golang.org/x/sys/unix"

	"github.com/opmint/opmint/api"
)

// Activated returns the socket that systemd has passed to this process, and nil if
// there is none: as in sd_listen_fds(3), LISTEN_FDS counts only where LISTEN_PID is
// this process. Anything but one Unix stream socket that listens at a path is an error.
//
// The socket belongs to systemd, with its path and its mode: Close leaves it where it
// is, and clients that connect afterwards wait for the next daemon.
//
// Activated is called once: it removes the variables from the environment.
func Activated() (*Listener, error) {
	files := activation.Files(true)
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	if len(files) == 0 {
		return nil, nil
	}
	if len(files) > 1 {
		return nil, fmt.Errorf("systemd passed %d sockets, and the daemon serves one: "+
			"leave a single ListenStream= in opmintd.socket", len(files))
	}
	l, err := takeOver(files[0])
	if err != nil {
		return nil, fmt.Errorf("the socket that systemd passed: %w", err)
	}
	return l, nil
}

// takeOver returns the socket that f is.
func takeOver(f *os.File) (*Listener, error) {
	if err := checkActivated(f); err != nil {
		return nil, err
	}
	l, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	// Where the path leads elsewhere, as in a container, the socket still has clients.
	made, _ := os.Lstat(l.Addr().String())
	return &Listener{UnixListener: l.(*net.UnixListener), made: made, Activated: true}, nil
}

// checkActivated returns why f is nothing to serve, or nil.
func checkActivated(f *os.File) error {
	fd := int(f.Fd())
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return fmt.Errorf("it is no socket (%w): use ListenStream= in opmintd.socket", err)
	}
	address, err := unix.Getsockname(fd)
	if err != nil {
		return os.NewSyscallError("getsockname", err)
	}
	local, ok := address.(*unix.SockaddrUnix)
	if !ok {
		return errors.New("it is no Unix socket, and only there the kernel says who is calling: " +
			"use ListenStream= with a path in opmintd.socket")
	}
	if kind != unix.SOCK_STREAM {
		return errors.New("it is no stream: use ListenStream= in opmintd.socket")
	}
	listens, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	if err != nil {
		return os.NewSyscallError("getsockopt", err)
	}
	if listens == 0 {
		return errors.New("it does not listen, as a connection does not: use Accept=no in opmintd.socket")
	}
	if err := api.CheckSocket(local.Name); err != nil {
		return errors.New("it is at no path, where every user may use it: use ListenStream= with a path in opmintd.socket")
	}
	return nil
}
