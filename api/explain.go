package api

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"syscall"
)

// explain says of an error of the transport what it means.
func (c *Client) explain(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // the URL tells nothing: its host is made up
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED) && !c.isSocket():
		return fmt.Errorf("ask opmintd: %s is no socket: say where the daemon's is (%w)", c.socket, err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w: nobody listens on %s: start opmintd, or set %s (%w)",
			ErrNoDaemon, c.socket, SocketVariable, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: you may not use %s: %s (%w)", ErrForbidden, c.socket, c.whoMay(), err)
	case errors.Is(err, syscall.EAGAIN):
		return fmt.Errorf("%w: too many are waiting for opmintd at %s: try again (%w)", ErrOverloaded, c.socket, err)
	case isCutOff(err):
		return fmt.Errorf("%w: the connection to opmintd at %s broke off: try again; its log may say why (%w)",
			ErrUnanswered, c.socket, err)
	}
	return fmt.Errorf("ask opmintd at %s: %w", c.socket, err)
}

// isCutOff reports whether err is what one sees of a daemon that is no more.
func isCutOff(err error) bool {
	// net/http has no sentinel for a connection that was closed before its first use.
	return err.Error() == "http: server closed idle connection" || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// isSocket reports whether there is a socket at c's path, as far as can be seen.
func (c *Client) isSocket() bool {
	info, err := os.Stat(c.socket)
	return err != nil || info.Mode().Type() == fs.ModeSocket
}

// whoMay says who may use the socket, by its mode.
func (c *Client) whoMay() string {
	info, err := os.Stat(c.socket)
	switch {
	case err != nil:
		return "a folder above it is closed to you"
	case info.Mode().Perm()&0o020 != 0:
		return "join the group that it belongs to"
	}
	return "it is for its owner and root only"
}
