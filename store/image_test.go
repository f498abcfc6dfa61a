package store

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// image is the files of a store at a moment.
type image map[string][]byte

func imageOf(t testing.TB, path string) image {
	t.Helper()
	files := image{}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(path), e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = data
	}
	return files
}

const logName = "ledger.db.log"

// with returns the image with another log.
func (i image) with(log []byte) image {
	other := maps.Clone(i)
	other[logName] = log
	return other
}

// place puts the files of an image into a folder of their own.
func (i image) place(t testing.TB) (path string) {
	t.Helper()
	folder := t.TempDir()
	for name, data := range i {
		if err := os.WriteFile(filepath.Join(folder, name), data, fileMode); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(folder, "ledger.db")
}

// opens opens an image and returns the keys in it.
func (i image) opens(t *testing.T) string {
	t.Helper()
	s := openTest(t, i.place(t))
	defer s.Close()
	return keysIn(t, s)
}

func newLedger(t testing.TB) (*Bolt, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	return openTest(t, path), path
}
