package api

import (
	"errors"
	"os"
	"path/filepath"
)

// SocketVariable is the environment variable that says where the socket is.
const SocketVariable = "OPMINT_SOCKET"

// systemSocket is where the daemon of the whole machine listens.
const systemSocket = "/run/opmint/opmint.sock"

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
