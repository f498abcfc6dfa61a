//go:build unix

package api

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// StateFolder returns where the daemon that was not told where keeps its state:
// in /var/lib/opmint if it is root, else in opmint in XDG_STATE_HOME, by default
// ~/.local/state. Without a home it is an error.
func StateFolder() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/opmint", nil
	}
	return userStateFolder(os.Getenv)
}

// userStateFolder returns where the state of a user's own daemon is.
func userStateFolder(getenv func(string) string) (string, error) {
	// The XDG base directory specification ignores relative paths.
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "opmint"), nil
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "opmint"), nil
	}
	return "", errors.New("no place for the state: neither XDG_STATE_HOME nor HOME is an absolute path; " +
		"set one, or say where with --state")
}

// CheckStateFolder returns nil if path is a folder that belongs to the user of
// this process and that nobody else may use: it holds secrets, and files that
// another user has made there would not be the daemon's. A missing folder is
// fs.ErrNotExist.
func CheckStateFolder(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	owner := -1
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = int(stat.Uid)
	}
	switch {
	case !info.IsDir():
		return fmt.Errorf("state folder %s: it is not a folder", path)
	case owner != os.Geteuid():
		return fmt.Errorf("state folder %s: it belongs to user %d, and this is user %d: "+
			"run this as its owner, or say another with --state", path, owner, os.Geteuid())
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("state folder %s: it is open to other users (mode %04o): chmod 700 %[1]s", path, info.Mode().Perm())
	}
	return nil
}

// MakeStateFolder makes the folder path, and those above it that are missing,
// with mode 0700, and checks it as CheckStateFolder does. When it returns nil, a
// loss of power does not take the folder away.
func MakeStateFolder(path string) error {
	if err := makeFolder(filepath.Clean(path)); err != nil {
		return fmt.Errorf("make the state folder: %w", err)
	}
	return CheckStateFolder(path)
}

func makeFolder(path string) error {
	err := os.Mkdir(path, 0o700)
	parent := filepath.Dir(path)
	if errors.Is(err, fs.ErrNotExist) && parent != path {
		if err := makeFolder(parent); err != nil {
			return err
		}
		err = os.Mkdir(path, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := os.Open(parent)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
