package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// openErr opens a journal that must not open.
func openErr(t *testing.T, path string, want error) {
	t.Helper()
	s, err := Open(t.Context(), path, Options{Kind: Journal})
	if err == nil {
		s.Close()
	}
	if !errors.Is(err, want) {
		t.Errorf("Open: %v, want %v", err, want)
	}
}

// writeFile writes what might be taken for a store.
func writeFile(t *testing.T, data []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "journal.db")
	if err := os.WriteFile(path, data, fileMode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestModes(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "state")
	path := filepath.Join(folder, "journal.db")
	openTest(t, path)
	for path, want := range map[string]fs.FileMode{
		filepath.Dir(folder): folderMode, folder: folderMode, path: fileMode, path + ".created": fileMode,
	} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	if entries, err := os.ReadDir(folder); len(entries) != 2 {
		t.Errorf("%v, %v: want only the file and its marker", entries, err)
	}
}

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

func TestLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	s := openTest(t, path)
	if err := s.Commit(t.Context(), nil, put("a")); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		openErr(t, path, ErrLost)
	}
	s, err := Open(t.Context(), path, Options{Kind: Journal, AcceptLoss: true})
	if err != nil {
		t.Fatal(err)
	}
	if keys := keysIn(t, s); keys != "" {
		t.Errorf("made anew with %q", keys)
	}
	s.Close()

	// A file alone, as from a backup, is good, and gets its marker back.
	if err := os.Remove(marker(path)); err != nil {
		t.Fatal(err)
	}
	openTest(t, path).Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	openErr(t, path, ErrLost)
}

// TestLeftover: a file that was being made when the power failed is no store
// yet, and in nobody's way.
func TestLeftover(t *testing.T) {
	path := writeFile(t, nil)
	if err := os.Rename(path, path+".new"); err != nil {
		t.Fatal(err)
	}
	openTest(t, path)
	if _, err := os.Stat(path + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	s := openTest(t, path)
	if err := s.Commit(t.Context(), nil, put("a")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, path, Options{Kind: Journal}); !errors.Is(err, ErrInUse) {
		t.Errorf("Open: %v, want ErrInUse", err)
	}
	opened := make(chan *Bolt)
	go func() {
		defer close(opened)
		opened <- openPatiently(t, path)
	}()
	s.Close()
	if s = <-opened; s == nil {
		t.FailNow()
	}
	if keys := keysIn(t, s); keys != "a" {
		t.Errorf("records %q", keys)
	}
	s.Close()
}

// openPatiently waits longer than Open does, for a machine under load.
func openPatiently(t *testing.T, path string) *Bolt {
	for {
		s, err := Open(t.Context(), path, Options{Kind: Journal})
		if err == nil {
			return s
		}
		if !errors.Is(err, ErrInUse) {
			t.Errorf("Open: %v", err)
			runtime.Goexit()
		}
	}
}

// TestOpenedAtOnce: of many that start at once, one makes the file, and all
// find it.
func TestOpenedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			s := openPatiently(t, path)
			if err := errors.Join(s.Commit(t.Context(), nil, put(string(rune('a'+i)))), s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if keys := keysIn(t, openTest(t, path)); keys != "a b c d e f g h i j k l m n o p" {
		t.Errorf("records %q", keys)
	}
}

func TestPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	openTest(t, path).Close()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := private(info, os.Geteuid()); err != nil {
		t.Errorf("of this user: %v", err)
	}
	if err := private(info, os.Geteuid()+1); !errors.Is(err, ErrForeign) {
		t.Errorf("of another user: %v", err)
	}
	for _, mode := range []fs.FileMode{0o640, 0o620, 0o604, 0o602, 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		openErr(t, path, ErrForeign)
	}
	if err := os.Chmod(path, fileMode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	openErr(t, path, ErrForeign)
	if err := os.Chmod(filepath.Dir(path), 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	openErr(t, path, nil)
}
