package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/api/server"
)

// The files of the state folder that are the daemon's own, mode 0600; package tpm
// has others there.
const (
	lockFile     = "lock"        // held as long as the daemon runs
	minterFile   = "minter"      // the minter, raw
	templateFile = "ek.template" // which template the endorsement key is made from
)

// A minter is 16 random bytes that tell apart daemons on one TPM.
type minter [16]byte

func drawMinter() (m minter) {
	rand.Read(m[:]) // never fails
	return m
}

// state is the folder with what lasts, for this process alone.
type state struct {
	dir  string
	lock *server.Lock
}

// openState makes the folder if it is missing, and takes it for this process.
func openState(dir string) (*state, error) {
	if err := api.MakeStateFolder(dir); err != nil {
		return nil, err
	}
	lock, err := server.TakeLock(filepath.Join(dir, lockFile))
	if errors.Is(err, server.ErrLocked) {
		return nil, fmt.Errorf("state folder %s: another daemon uses it: stop that one, or say another with --state: %w",
			dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("state folder %s: %w", dir, err)
	}
	return &state{dir, lock}, nil
}

func (s *state) close() error { return s.lock.Release() }

// minter returns the minter, which is drawn and kept if there is none yet.
func (s *state) minter() (m minter, err error) {
	data, err := s.read(minterFile, len(m))
	if errors.Is(err, fs.ErrNotExist) {
		m = drawMinter()
		return m, s.keepMinter(m)
	}
	if err != nil {
		return m, err
	}
	if copy(m[:], data); len(data) != len(m) || m == (minter{}) {
		return m, fmt.Errorf("%s is damaged: want %d random bytes; remove it, and the daemon mints under a new identity",
			filepath.Join(s.dir, minterFile), len(m))
	}
	return m, nil
}

func (s *state) keepMinter(m minter) error { return s.write(minterFile, m[:]) }

// read returns a file's content, of which it reads no more than is needed to see
// that it is longer than size.
func (s *state) read(name string, size int) ([]byte, error) {
	f, err := os.Open(filepath.Join(s.dir, name))
	if err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(size)+1))
	if err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	return data, nil
}

// write replaces a file as a whole and returns when it is on the disk.
func (s *state) write(name string, data []byte) error {
	target := filepath.Join(s.dir, name)
	if err := writeSynced(target+".new", data); err != nil {
		return fmt.Errorf("write the state: %w", err)
	}
	if err := os.Rename(target+".new", target); err != nil {
		return fmt.Errorf("write the state: %w", err)
	}
	folder, err := os.Open(s.dir)
	if err == nil {
		err = errors.Join(folder.Sync(), folder.Close())
	}
	if err != nil {
		return fmt.Errorf("write the state: %w", err)
	}
	return nil
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
