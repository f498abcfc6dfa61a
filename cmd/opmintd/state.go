package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/api/server"
	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/store"
)

// The files of the state folder that are the daemon's own, mode 0600; packages
// tpm and store have others there.
const (
	lockFile    = "lock" // held as long as the daemon runs
	journalFile = "journal"
)

// state is the folder with what lasts, for this process alone.
type state struct {
	dir     string
	lock    *server.Lock
	store   *store.Bolt
	journal *journal.Journal
}

// openState makes the folder if it is missing, takes it for this process, and
// opens the journal there.
func openState(ctx context.Context, dir string) (*state, error) {
	if err := api.MakeStateFolder(dir); err != nil {
		return nil, err
	}
	lock, err := server.TakeLock(filepath.Join(dir, lockFile))
	if errors.Is(err, server.ErrLocked) {
		return nil, fmt.Errorf("state folder %s: another daemon uses it: stop that one, or say another with --state: %w",
			dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("state folder %s: the daemon must be able to write there: %w", dir, err)
	}
	s := &state{dir: dir, lock: lock}
	if err := s.openJournal(ctx); err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	return s, nil
}

// openJournal opens the journal, a new one if there never was one.
func (s *state) openJournal(ctx context.Context) error {
	var err error
	if s.store, err = store.Open(ctx, filepath.Join(s.dir, journalFile), store.Options{Kind: store.Journal}); err != nil {
		return advise(err)
	}
	if s.journal, err = journal.Open(ctx, s.store, time.Now); err != nil {
		return advise(errors.Join(err, s.store.Close()))
	}
	return nil
}

func (s *state) close() error { return errors.Join(s.store.Close(), s.lock.Release()) }
