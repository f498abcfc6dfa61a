package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/opmint/opmint/api/server"
	"github.com/opmint/opmint/ledger"
	"github.com/opmint/opmint/store"
)

// rebuild makes the ledger a second time, in a new file, out of the log of the one in
// the state folder: of the last checkpoint of each chain and the events after it. Then
// it compares both. The new file stays, whatever comes out.
func (o *options) rebuild(ctx context.Context, out io.Writer) (err error) {
	dir, err := o.stateFolder()
	if err != nil {
		return err
	}
	from, to := filepath.Join(dir, ledgerFile), string(o.rebuildLedger)
	if _, err := os.Stat(from); err != nil {
		return fmt.Errorf("rebuild the ledger: %w", err)
	}
	if _, err := os.Lstat(to); err == nil {
		return &usageError{fmt.Errorf("--rebuild-ledger %s: there is something already: say the path of a new file", to)}
	}
	lock, err := server.TakeLock(filepath.Join(dir, lockFile))
	if err != nil {
		return fmt.Errorf("state folder %s: stop the daemon first: %w", dir, err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	was, err := store.Open(ctx, from, store.Options{Kind: store.Ledger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, was.Close()) }()
	made, err := store.Open(ctx, to, store.Options{Kind: store.Ledger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, made.Close()) }()
	if err := ledger.Rebuild(ctx, was, made); err != nil {
		return fmt.Errorf("rebuild ledger %s from its log: %w", from, err)
	}
	if err := ledger.Compare(ctx, was, made); err != nil {
		return fmt.Errorf("ledger %s is not what its log says, which is now in %s: %w", from, to, err)
	}
	_, err = fmt.Fprintf(out, "%s is what its log says, and so is %s\n", from, to)
	return err
}
