package api

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// SocketVariable is the environment variable that says where the socket is.
const SocketVariable = "OPMINT_SOCKET"

// systemSocket is where the daemon of the whole machine listens.
const systemSocket = "/run/opmint/opmint.sock"

// maxSocket is the longest path that a socket can have, in bytes: sun_path of
// unix(7) less its final NUL.
const maxSocket = 107

// CheckSocket returns why path can be no socket's, for either end, or nil. One that
// begins with @ would be a name that is in no folder (an abstract one, unix(7)), which
// every user of the machine may use.
func CheckSocket(path string) error {
	switch {
	case path == "":
		return errors.New("the socket's path is empty: say one with --socket")
	case path[0] == '@' || path[0] == 0:
		return fmt.Errorf("socket %q: it would be in no folder, and open to all users: say ./ before it if that is its name", path)
	case len(path) > maxSocket:
		return fmt.Errorf("socket %s: the path has %d bytes, and that of a socket at most %d: say a shorter one with --socket",
			path, len(path), maxSocket)
	}
	return nil
}

// DaemonSocket returns where a daemon listens that was not told where: at
// [SocketVariable], else at /run/opmint/opmint.sock if it is root, else at
// opmint/opmint.sock in XDG_RUNTIME_DIR. Without any of these it is an error.
func DaemonSocket() (string, error) {
	if path := os.Getenv(SocketVariable); path != "" {
		return path, nil
	}
	if path := ownSocket(os.Geteuid(), os.Getenv("XDG_RUNTIME_DIR")); path != "" {
		return path, nil
	}
	return "", errors.New("no place for the socket: XDG_RUNTIME_DIR is not set; set it, or say where with --socket")
}

// ClientSocket returns where a client that was not told looks for the daemon: at
// [SocketVariable], else at the user's own socket if it is there, else at
// /run/opmint/opmint.sock.
func ClientSocket() string {
	if path := os.Getenv(SocketVariable); path != "" {
		return path
	}
	if path := ownSocket(os.Geteuid(), os.Getenv("XDG_RUNTIME_DIR")); path != "" {
		if _, err := os.Lstat(path); err == nil {
			return path
		}
	}
	return systemSocket
}

// ownSocket returns where a user's daemon listens, or "" if there is no place for
// it.
func ownSocket(uid int, runtimeDir string) string {
	if uid == 0 {
		return systemSocket
	}
	// The XDG base directory specification ignores relative paths.
	if filepath.IsAbs(runtimeDir) {
		return filepath.Join(runtimeDir, "opmint", "opmint.sock")
	}
	return ""
}
