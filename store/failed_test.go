package store

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"

	"go.etcd.io/bbolt"
)

// TestFailedTransaction: what a Commit reports, whether the store goes on, and
// what is found when it is opened anew, for each way a transaction can fail.
func TestFailedTransaction(t *testing.T) {
	for _, test := range []struct {
		name        string
		commit      func(*bbolt.Tx) error
		want, later error
		found       string
	}{
		{"lost", func(tx *bbolt.Tx) error { tx.Rollback(); return errDisk }, errDisk, nil, "1 3"},
		{"kept but reported lost", func(tx *bbolt.Tx) error { tx.Commit(); return errDisk },
			ErrOutcomeUnknown, ErrStopped, "1 2"},
		{"panic before", func(*bbolt.Tx) error { panic("page 7") }, ErrDamaged, ErrStopped, "1"},
		{"panic after", func(tx *bbolt.Tx) error { tx.Commit(); panic("page 7") },
			ErrOutcomeUnknown, ErrStopped, "1 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			s := openTest(t, path)
			commit(t, s, "1", nil)
			s.commitTx = test.commit
			commit(t, s, "2", test.want)
			s.commitTx = (*bbolt.Tx).Commit
			commit(t, s, "3", test.later)
			if _, err := s.Get(t.Context(), []byte("1")); !errors.Is(err, test.later) {
				t.Errorf("Get: %v, want %v", err, test.later)
			}
			if _, err := s.Scan(t.Context(), nil, nil, 1); !errors.Is(err, test.later) {
				t.Errorf("Scan: %v, want %v", err, test.later)
			}
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if found := keysIn(t, openTest(t, path)); found != test.found {
				t.Errorf("found %q, want %q", found, test.found)
			}
		})
	}
}

// commit fails the test unless a Commit of one record ends as wanted.
func commit(t *testing.T, s *Bolt, key string, want error) {
	t.Helper()
	err := s.Commit(t.Context(), nil, put(key))
	if unknown := errors.Is(err, ErrOutcomeUnknown); !errors.Is(err, want) || unknown != (want == ErrOutcomeUnknown) {
		t.Errorf("Commit(%s): %v, want %v", key, err, want)
	}
}

// TestConflictInFailedTransaction: who was refused was not in the transaction,
// whatever became of it.
func TestConflictInFailedTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, disk := slowStore(t)
		first, written, refused := make(chan error, 1), make(chan error, 1), make(chan error, 1)
		go func() { first <- s.Commit(t.Context(), nil, put("first")) }()
		<-disk.begun
		go func() { written <- s.Commit(t.Context(), nil, put("second")) }()
		go func() { refused <- s.Commit(t.Context(), absent("first"), put("third")) }()
		synctest.Wait()
		disk.end <- struct{}{}
		<-disk.begun
		disk.err = errDisk
		disk.end <- struct{}{}
		if err := <-first; err != nil {
			t.Error(err)
		}
		if err := <-written; !errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("Commit: %v, want ErrOutcomeUnknown", err)
		}
		if err := <-refused; !errors.Is(err, ErrStopped) || errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("Commit with a conflict: %v, want ErrStopped", err)
		}
	})
}
