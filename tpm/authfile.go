package tpm

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// The files of the state folder that belong to the index, mode 0600.
const (
	// authFile holds the authorization value of the index, raw.
	authFile = "index.auth"
	// incarnationFile holds the incarnation that was defined last from this
	// folder, raw, and once it is known, in 8 bytes, big-endian, the value with
	// which its counter began. What counts is the incarnation in the TPM.
	incarnationFile = "index.incarnation"
)

// secretSize is the size of an authorization value and of an incarnation.
const secretSize = 32

// readAuth reads the authorization value. Without one, or with one of another
// size, the error is ErrAuthLost.
func readAuth(dir string) ([]byte, error) {
	path := filepath.Join(dir, authFile)
	auth, err := readSmall(path, secretSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrAuthLost, err)
	}
	if err != nil {
		return nil, err
	}
	if len(auth) != secretSize {
		return nil, fmt.Errorf("%w: %s is damaged: it has not %d bytes", ErrAuthLost, path, secretSize)
	}
	return auth, nil
}

// drawAuth makes a new authorization value and stores it.
func drawAuth(dir string) ([]byte, error) {
	auth := make([]byte, secretSize)
	if _, err := rand.Read(auth); err != nil {
		return nil, err
	}
	return auth, writeSecret(dir, authFile, auth)
}

// drawIncarnation makes a new incarnation and stores it.
func drawIncarnation(dir string) ([secretSize]byte, error) {
	var incarnation [secretSize]byte
	if _, err := rand.Read(incarnation[:]); err != nil {
		return incarnation, err
	}
	return incarnation, writeSecret(dir, incarnationFile, incarnation[:])
}

// keepFirst stores the value with which the counter of an incarnation began.
func keepFirst(dir string, incarnation [secretSize]byte, first uint64) error {
	return writeSecret(dir, incarnationFile, binary.BigEndian.AppendUint64(incarnation[:], first))
}

// readFirst returns what keepFirst stored, and 0 where it stored nothing, or that
// of another incarnation.
func readFirst(dir string, incarnation [secretSize]byte) (uint64, error) {
	data, err := readSmall(filepath.Join(dir, incarnationFile), secretSize+8)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil || len(data) != secretSize+8 || !bytes.Equal(data[:secretSize], incarnation[:]) {
		return 0, err
	}
	return binary.BigEndian.Uint64(data[secretSize:]), nil
}

// readBeginning returns what readFirst does, and since when the file says so.
func readBeginning(dir string, incarnation [secretSize]byte) (first uint64, since time.Time, err error) {
	if first, err = readFirst(dir, incarnation); err != nil || first == 0 {
		return 0, time.Time{}, err
	}
	info, err := os.Stat(filepath.Join(dir, incarnationFile))
	if err != nil {
		return 0, time.Time{}, err
	}
	return first, info.ModTime(), nil
}

// readSmall reads a file, of which it reads no more than shows that it is longer
// than size.
func readSmall(path string, size int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, size+1))
}

// writeSecret replaces a file as a whole and returns when it is on the disk. The
// folder is locked, so what a crash has left of an earlier one is written over.
func writeSecret(dir, name string, data []byte) (err error) {
	f, err := os.OpenFile(filepath.Join(dir, name+".new"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = io.Copy(f, bytes.NewReader(data))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), filepath.Join(dir, name)); err != nil {
		return err
	}
	return syncFolder(dir)
}

// syncFolder makes the names in a folder durable.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
