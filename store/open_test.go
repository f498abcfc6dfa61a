package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// openErr opens a store that must not open.
func openErr(t *testing.T, path string, want error) {
	t.Helper()
	s, err := Open(t.Context(), path, Options{Kind: kindOf(path)})
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
