package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// TestCrashWhileWriting takes an image at every write and sync of log and file, while
// what the log has is written to the file, and while the store is closed: each has all
// that was committed.
func TestCrashWhileWriting(t *testing.T) {
	s, path := newLedger(t)
	var images []image
	snap := func() { images = append(images, imageOf(t, path)) }
	log := s.recent.log
	write, sync := log.write, log.sync
	log.write = func(b []byte, at int64) (int, error) {
		defer snap()
		return write(b, at)
	}
	log.sync = func() error {
		defer snap()
		return sync()
	}
	s.commitTx = func(tx *bbolt.Tx) error {
		snap()
		defer snap()
		return tx.Commit()
	}
	wanted := ""
	for i := range 3 {
		images = nil
		commit(t, s, fmt.Sprint(i), nil)
		wanted = strings.TrimSpace(fmt.Sprint(wanted, " ", i))
		images = images[len(images)-1:]
		if i == 2 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		} else if err := s.writeRecent(); err != nil {
			t.Fatal(err)
		}
		if len(images) < 6 {
			t.Errorf("only %d images", len(images))
		}
		for n, image := range images {
			path := image.place(t)
			for round := range 2 {
				s := openTest(t, path)
				if got := keysIn(t, s); got != wanted {
					t.Errorf("image %d of %d, opened %d times: found %q, want %q", n, i, round+1, got, wanted)
				}
				s.Close()
			}
		}
	}
}

// TestLogFails: what a Commit reports for each way in which the log can fail, and what is
// found afterwards.
func TestLogFails(t *testing.T) {
	lost := func(*logFile) func([]byte, int64) (int, error) {
		return func([]byte, int64) (int, error) { return 0, errDisk }
	}
	for _, test := range []struct {
		name        string
		fail        func(l *logFile)
		want, later error
		found       string
	}{
		{"no room", func(l *logFile) { l.size, l.write = l.end, lost(l) }, errDisk, nil, "1 3"},
		{"write lost", func(l *logFile) { l.write = lost(l) }, ErrOutcomeUnknown, ErrStopped, "1"},
		{"sync failed", func(l *logFile) { l.sync = func() error { return errDisk } }, ErrOutcomeUnknown, ErrStopped, "1 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, path := newLedger(t)
			commit(t, s, "1", nil)
			works := *s.recent.log
			test.fail(s.recent.log)
			commit(t, s, "2", test.want)
			s.recent.log.write, s.recent.log.sync = works.write, works.sync
			commit(t, s, "3", test.later)
			if _, err := s.Get(t.Context(), []byte("1")); !errors.Is(err, test.later) {
				t.Errorf("Get: %v, want %v", err, test.later)
			}
			if got := imageOf(t, path).opens(t); got != test.found {
				t.Errorf("found %q, want %q", got, test.found)
			}
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if got := imageOf(t, path).opens(t); got != test.found {
				t.Errorf("after Close found %q, want %q", got, test.found)
			}
		})
	}
}

// TestFileFails: what cannot be written to the file stays in the log, and the store
// goes on once it can.
func TestFileFails(t *testing.T) {
	s, path := newLedger(t)
	commit(t, s, "1", nil)
	s.SetMaxLogged(1)
	s.commitTx = func(tx *bbolt.Tx) error { tx.Rollback(); return errDisk }
	for range 3 {
		commit(t, s, "2", errDisk)
	}
	if got := keysIn(t, s); got != "1" {
		t.Errorf("found %q", got)
	}
	if got := imageOf(t, path).opens(t); got != "1" {
		t.Errorf("after a crash found %q", got)
	}
	s.commitTx = (*bbolt.Tx).Commit
	commit(t, s, "3", nil)
	if got := imageOf(t, path).opens(t); got != "1 3" {
		t.Errorf("at the end found %q", got)
	}
}
