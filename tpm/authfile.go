package tpm

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// The files of the state folder that belong to the index, mode 0600.
const (
	// authFile holds the authorization value of the index, raw.
	authFile = "index.auth"
	// incarnationFile holds the incarnation that was defined last from this
	// folder, raw. What counts is the one in the TPM.
	incarnationFile = "index.incarnation"
)

// secretSize is the size of an authorization value and of an incarnation.
const secretSize = 32

// readAuth reads the authorization value. Without one, or with one of another
// size, the error is ErrAuthLost.
func readAuth(dir string) ([]byte, error) {
	path := filepath.Join(dir, authFile)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrAuthLost, err)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	auth, err := io.ReadAll(io.LimitReader(f, secretSize+1))
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
