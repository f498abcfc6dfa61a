package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// damage changes the file of an open store behind its back.
func damage(t *testing.T, path string, change func(f *os.File, data []byte) error) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err == nil {
		err = change(f, data)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// pageOf returns where the last page begins that holds text.
func pageOf(t *testing.T, data, text []byte) int64 {
	t.Helper()
	i := bytes.LastIndex(data, text)
	if i < 0 {
		t.Fatalf("%q is not in the file", text)
	}
	return int64(i / pageSize * pageSize)
}

// TestDamagedWhileOpen: damage that comes later is an error where it is met.
// What leaves the state unknown stops the store, a wrong value does not.
func TestDamagedWhileOpen(t *testing.T) {
	value := []byte("value of 500")
	for _, test := range []struct {
		name      string
		change    func(*os.File, []byte) error
		elsewhere error // of a Get of another page
		later     error // of the same, after a Commit that met the damage
	}{
		{"flipped byte", func(f *os.File, data []byte) error {
			_, err := f.WriteAt([]byte("V"), int64(bytes.LastIndex(data, value)))
			return err
		}, nil, nil},
		{"zeroed page", func(f *os.File, data []byte) error {
			_, err := f.WriteAt(make([]byte, pageSize), pageOf(t, data, value))
			return err
		}, nil, ErrStopped},
		{"truncated", func(f *os.File, data []byte) error {
			return f.Truncate(pageOf(t, data, value))
		}, ErrDamaged, ErrStopped},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			s := openTest(t, path)
			var writes []Write
			for i := range 1000 {
				writes = append(writes, Write{Key: fmt.Appendf(nil, "%03d", i), Value: fmt.Appendf(nil, "value of %03d", i)})
			}
			if err := s.Commit(t.Context(), nil, writes); err != nil {
				t.Fatal(err)
			}
			damage(t, path, test.change)
			meetDamage(t, s, writes[500], test.elsewhere, test.later)
			s.Close()
			openErr(t, path, ErrDamaged)
		})
	}
}

// meetDamage reads and writes a damaged record, and reads another.
func meetDamage(t *testing.T, s *Bolt, victim Write, elsewhere, later error) {
	t.Helper()
	if v, err := s.Get(t.Context(), victim.Key); !errors.Is(err, ErrDamaged) {
		t.Errorf("Get = %q, %v, want ErrDamaged", v, err)
	}
	if r, err := s.Scan(t.Context(), victim.Key, nil, MaxScan); !errors.Is(err, ErrDamaged) {
		t.Errorf("Scan = %d records, %v, want ErrDamaged", len(r), err)
	}
	if _, err := s.Get(t.Context(), []byte("001")); !errors.Is(err, elsewhere) {
		t.Errorf("Get elsewhere: %v, want %v", err, elsewhere)
	}
	err := s.Commit(t.Context(), []Check{Check(victim)}, []Write{{Key: victim.Key}})
	if !errors.Is(err, ErrDamaged) || errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("Commit: %v, want ErrDamaged", err)
	}
	if _, err := s.Get(t.Context(), []byte("001")); !errors.Is(err, later) {
		t.Errorf("Get elsewhere, after Commit: %v, want %v", err, later)
	}
}
