package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Look returns the version of the format of the store in the file at path, after it
// has verified all of the file as Open does. It makes and changes nothing, and it
// does not wait: [ErrInUse] is that somebody has the file open. Other errors are
// those of Open; where there never was a store, it is [fs.ErrNotExist]. The file
// must be its folder's owner's: whoever looks may be root.
func Look(path string, kind Kind) (version int, err error) {
	if version, err = look(path, kind); err != nil {
		return 0, fmt.Errorf("look at %s %s: %w", kind, path, err)
	}
	return version, nil
}

func look(path string, kind Kind) (int, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if marked, _ := exists(marker(path)); marked {
			return 0, fmt.Errorf("%w: %s says that it was made", ErrLost, marker(path))
		}
	}
	if err != nil {
		return 0, err
	}
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return 0, err
	}
	owner, ok := ownerOf(folder)
	if !ok {
		return 0, fmt.Errorf("%w: who owns %s is not known", ErrForeign, filepath.Dir(path))
	}
	if err := private(info, owner); err != nil {
		return 0, err
	}
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	// Without waiting, so that a daemon that starts waits no longer than this takes.
	now, cancel := context.WithCancel(context.Background())
	cancel()
	if err := flock(now, file, lockShared); err != nil {
		return 0, err
	}
	v := &verifier{file: file}
	if err = asDamage(v.verify(info.Size(), kind)); err == nil && kind == Ledger {
		err = lookAtLog(path, owner, v.meta.transaction)
	}
	return v.version, err
}

// lookAtLog reads the log of a store whose bbolt file has that newest transaction.
func lookAtLog(path string, owner int, base uint64) error {
	file, err := os.Open(logPath(path))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s is not there", ErrLost, logPath(path))
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil {
		err = private(info, owner)
	}
	if err != nil {
		return err
	}
	r := &recent{log: useLog(file), table: newMemtable()}
	return r.read(info.Size(), base)
}
