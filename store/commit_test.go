package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.etcd.io/bbolt"
)

var errDisk = errors.New("disk on fire")

// slow is a disk whose transactions begin to sync when told and end when told.
type slow struct {
	transactions int
	begun, end   chan struct{}
	err          error // of the transactions that end now
}

// slowStore returns a store on a slow disk.
func slowStore(t *testing.T) (*Bolt, *slow) {
	t.Helper()
	s := openTest(t, filepath.Join(t.TempDir(), "journal.db"))
	d := &slow{begun: make(chan struct{}), end: make(chan struct{})}
	s.commitTx = func(tx *bbolt.Tx) error {
		d.transactions++
		err := tx.Commit()
		d.begun <- struct{}{}
		<-d.end
		return errors.Join(err, d.err)
	}
	t.Cleanup(func() { s.commitTx = (*bbolt.Tx).Commit })
	return s, d
}

func put(key string) []Write { return []Write{{Key: []byte(key), Value: []byte("v")}} }

func absent(key string) []Check { return []Check{{Key: []byte(key)}} }

// TestGroupCommit: whoever comes while a transaction syncs shares the next
// one, and neither a conflict nor somebody who gives up spoils it for others.
func TestGroupCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, disk := slowStore(t)
		var wait sync.WaitGroup
		commit := func(ctx context.Context, checks []Check, key string, want error) {
			wait.Go(func() {
				if err := s.Commit(ctx, checks, put(key)); !errors.Is(err, want) {
					t.Errorf("Commit(%s): %v, want %v", key, err, want)
				}
			})
		}
		commit(t.Context(), nil, "first", nil)
		<-disk.begun

		for i := range 10 {
			commit(t.Context(), absent(fmt.Sprint(i)), fmt.Sprint(i), nil)
		}
		synctest.Wait()
		commit(t.Context(), absent("first"), "refused", ErrConflict)
		commit(t.Context(), absent("3"), "refused too", ErrConflict)
		ctx, cancel := context.WithCancel(t.Context())
		commit(ctx, nil, "cancelled", context.Canceled)
		synctest.Wait()
		cancel()
		synctest.Wait()

		disk.end <- struct{}{}
		<-disk.begun
		disk.end <- struct{}{}
		wait.Wait()
		if disk.transactions != 2 {
			t.Errorf("%d transactions, want 2", disk.transactions)
		}
		records, err := s.Scan(t.Context(), nil, nil, MaxScan)
		if err != nil || len(records) != 11 {
			t.Errorf("%d records, %v, want 11", len(records), err)
		}
	})
}

// TestTooLateToCancel: once its transaction has begun, a Commit is not undone
// by its context, neither for who runs the transaction nor for who joined it.
func TestTooLateToCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, disk := slowStore(t)
		ctx, cancel := context.WithCancel(t.Context())
		outcomes := make(chan error, 3)
		for i := range 3 {
			go func() { outcomes <- s.Commit(ctx, nil, put(fmt.Sprint(i))) }()
			if i == 0 {
				<-disk.begun
			}
		}
		synctest.Wait()
		disk.end <- struct{}{}
		<-disk.begun
		cancel()
		synctest.Wait()
		disk.end <- struct{}{}
		for range 3 {
			if err := <-outcomes; err != nil {
				t.Errorf("Commit: %v", err)
			}
		}
	})
}

// TestReadIsDurable: what a transaction wrote is not read before it is synced,
// though bbolt would show it, and nobody else waits for it.
func TestReadIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, disk := slowStore(t)
		go s.Commit(t.Context(), nil, put("a"))
		<-disk.begun
		read := make(chan error, 3)
		go func() {
			value, err := s.Get(t.Context(), []byte("a"))
			if string(value) != "v" {
				t.Errorf("Get = %q, %v", value, err)
			}
			read <- err
		}()
		go func() {
			_, err := s.Scan(t.Context(), nil, nil, 1)
			read <- err
		}()
		ctx, cancel := context.WithCancel(t.Context())
		given := make(chan error)
		go func() {
			_, err := s.Get(ctx, []byte("a"))
			given <- err
		}()
		synctest.Wait()
		if len(read) != 0 {
			t.Error("something was read that could still be lost")
		}
		cancel()
		if err := <-given; !errors.Is(err, context.Canceled) {
			t.Errorf("Get given up: %v", err)
		}
		disk.end <- struct{}{}
		if err := errors.Join(<-read, <-read); err != nil {
			t.Error(err)
		}
	})
}

// TestCloseWaits for the transaction under way, and refuses what comes later.
func TestCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, disk := slowStore(t)
		first, closed := make(chan error, 1), make(chan error, 1)
		go func() { first <- s.Commit(t.Context(), nil, put("first")) }()
		<-disk.begun
		go func() { closed <- s.Close() }()
		synctest.Wait()
		disk.end <- struct{}{}
		<-disk.begun // the list of free pages
		disk.end <- struct{}{}
		if err := errors.Join(<-first, <-closed); err != nil {
			t.Error(err)
		}
		if err := s.Commit(t.Context(), nil, put("late")); !errors.Is(err, ErrClosed) {
			t.Errorf("Commit: %v, want ErrClosed", err)
		}
	})
}

// keysIn returns all keys of a store that has few.
func keysIn(t *testing.T, s *Bolt) string {
	t.Helper()
	records, err := s.Scan(t.Context(), nil, nil, MaxScan)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, r := range records {
		keys = append(keys, string(r.Key))
	}
	return strings.Join(keys, " ")
}
