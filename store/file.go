package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
)

const (
	fileMode   = 0o600
	folderMode = 0o700

	lockWait = 2 * time.Second // how long Open waits for a file in use
	lockPoll = 20 * time.Millisecond
)

func marker(path string) string { return path + ".created" }

// find makes sure that there is something at path, if it may be made.
func find(ctx context.Context, path string, o Options) error {
	if found, err := exists(path); found || err != nil {
		return err
	}
	marked, err := exists(marker(path))
	if err != nil {
		return err
	}
	if marked && !o.AcceptLoss {
		return fmt.Errorf("%w: %s says that it was made: restore it from a backup, or remove that file to start empty",
			ErrLost, marker(path))
	}
	if marked {
		// It is new, and so will be its log.
		if err := os.Remove(marker(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	folder := filepath.Dir(path)
	if err := makeFolder(folder); err != nil {
		return err
	}
	// Two that start at once must not make it both: the second would replace
	// the file that the first has open.
	lock, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := flock(ctx, lock, lockExclusive); err != nil {
		return err
	}
	if found, err := exists(path); found || err != nil {
		return err
	}
	return create(path, o.Kind)
}

// create makes an empty store under another name, then renames it: whatever
// is at path is complete.
func create(path string, kind Kind) error {
	tmp := path + ".new"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := guard(func() error {
		db, err := bbolt.Open(tmp, fileMode, &bbolt.Options{PageSize: pageSize})
		if err != nil {
			return err
		}
		return errors.Join(db.Update(func(tx *bbolt.Tx) error { return initialize(tx, kind) }), db.Close())
	})
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
		return fmt.Errorf("create: %w", err)
	}
	return syncFolder(path)
}

func initialize(tx *bbolt.Tx, kind Kind) error {
	if _, err := tx.CreateBucket(recordsBucket); err != nil {
		return err
	}
	b, err := tx.CreateBucket(formatBucket)
	if err != nil {
		return err
	}
	return b.Put(formatKey, frame(formatKey, fmt.Appendf(nil, "%d %s", version, kind)))
}

// mark leaves the file that tells a lost store from one that never was.
func mark(path string) error {
	if found, err := exists(marker(path)); found || err != nil {
		return err
	}
	f, err := os.OpenFile(marker(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s was made. If it is missing it is lost.\n", filepath.Base(path))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		os.Remove(marker(path))
		return err
	}
	return syncFolder(path)
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// makeFolder makes a folder and those above it, durably.
func makeFolder(folder string) error {
	if found, err := exists(folder); found || err != nil {
		return err
	}
	if err := makeFolder(filepath.Dir(folder)); err != nil {
		return err
	}
	if err := os.Mkdir(folder, folderMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(folder)
}

// syncFolder makes durable that path is in its folder.
func syncFolder(path string) error {
	f, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// openFile opens the file at path and locks it, if it is this user's alone.
func openFile(ctx context.Context, path string) (*os.File, error) {
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	if folder.Mode().Perm()&0o002 != 0 && folder.Mode()&fs.ModeSticky == 0 {
		return nil, fmt.Errorf("%w: everyone may replace it: chmod o-w %s", ErrForeign, filepath.Dir(path))
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := private(info, os.Geteuid()); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := flock(ctx, file, lockExclusive); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
