package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"go.etcd.io/bbolt"
)

// TestVersions opens a file of each version there was. They were written with
// sampleRecords, and not closed.
func TestVersions(t *testing.T) {
	for v := 1; v <= version; v++ {
		data, err := os.ReadFile(fmt.Sprintf("testdata/journal-v%d.db", v))
		if err != nil {
			t.Fatal(err)
		}
		path := writeFile(t, data)
		kept, _ := sampleRecords()
		for range 2 {
			s := openTest(t, path)
			for _, w := range kept {
				if got, err := s.Get(t.Context(), w.Key); err != nil || !bytes.Equal(got, w.Value) {
					t.Errorf("version %d: Get(%.10q) = %.10q, %v", v, w.Key, got, err)
				}
			}
			kept = append(kept, put("a")...)
			if err := s.Commit(t.Context(), nil, put("a")); err != nil {
				t.Errorf("version %d: Commit: %v", v, err)
			}
			s.Close()
		}
	}
}

// TestOtherFormats changes what a file says of itself.
func TestOtherFormats(t *testing.T) {
	for format, want := range map[string]error{
		"1 journal":          nil,
		"1 ledger":           ErrForeign,
		"1 journal ":         ErrForeign,
		"2 journal":          ErrNewer,
		"2 something else":   ErrNewer,
		"4294967295 journal": ErrNewer,
		"0 journal":          ErrDamaged,
		"-1 journal":         ErrDamaged,
		"journal":            ErrDamaged,
		" ":                  ErrDamaged,
	} {
		path := filepath.Join(t.TempDir(), "journal.db")
		openTest(t, path).Close()
		update(t, path, func(tx *bbolt.Tx) error {
			return tx.Bucket(formatBucket).Put(formatKey, frame(formatKey, []byte(format)))
		})
		before, _ := os.ReadFile(path)
		openErr(t, path, want)
		if after, _ := os.ReadFile(path); want != nil && !bytes.Equal(before, after) {
			t.Errorf("format %q: the file was changed", format)
		}
	}
}

func update(t *testing.T, path string, change func(*bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(path, fileMode, &bbolt.Options{PageSize: pageSize})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(change), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestBboltOfOthers opens bbolt files that are none of ours.
func TestBboltOfOthers(t *testing.T) {
	for name, change := range map[string]func(*bbolt.Tx) error{
		"empty": func(*bbolt.Tx) error { return nil },
		"other": func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("other")); return err },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			update(t, path, change)
			openErr(t, path, ErrForeign)
		})
	}
}

func TestNoStore(t *testing.T) {
	whole := sampleFile(t, true)
	for name, data := range map[string][]byte{
		"empty":        {},
		"one byte":     {1},
		"text":         []byte("not a store\n"),
		"zeroes":       make([]byte, len(whole)),
		"garbage":      bytes.Repeat([]byte("garbage!"), len(whole)/8),
		"half":         whole[:len(whole)/2],
		"torn":         whole[:pageSize+100],
		"without head": whole[pageSize:],
	} {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, data)
			for range 2 {
				openErr(t, path, ErrDamaged)
			}
			if got, err := os.ReadFile(path); !bytes.Equal(got, data) {
				t.Errorf("the file was changed, %v", err)
			}
		})
	}
	t.Run("folder", func(t *testing.T) { openErr(t, t.TempDir(), ErrForeign) })
	t.Run("pipe", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "journal.db")
		if err := syscall.Mkfifo(path, fileMode); err != nil {
			t.Fatal(err)
		}
		openErr(t, path, ErrForeign)
	})
	t.Run("kind", func(t *testing.T) {
		if _, err := Open(t.Context(), "nowhere", Options{Kind: "other"}); !errors.Is(err, ErrInvalid) {
			t.Errorf("Open: %v, want ErrInvalid", err)
		}
	})
}
