package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// sampleRecords make a small file that has all there is in a file: a tree of
// three levels, a leaf with overflow, and (once some are deleted) free pages.
func sampleRecords() (kept, deleted []Write) {
	for i := range 15 {
		key := fmt.Appendf(nil, "%03d%s", i, strings.Repeat("k", MaxKey-3))
		w := Write{Key: key, Value: fmt.Appendf(nil, "value %d", i)}
		if i%3 == 1 {
			deleted = append(deleted, w)
		} else {
			kept = append(kept, w)
		}
	}
	return append(kept, Write{Key: []byte("large"), Value: bytes.Repeat([]byte("v"), pageSize)}), deleted
}

// sampleFile returns the bytes of a file with sampleRecords.
func sampleFile(t testing.TB, closed bool) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.db")
	s := openTest(t, path)
	kept, deleted := sampleRecords()
	for _, writes := range [][]Write{deleted, kept} {
		if err := s.Commit(t.Context(), nil, writes); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range deleted {
		if err := s.Commit(t.Context(), nil, []Write{{Key: w.Key}}); err != nil {
			t.Fatal(err)
		}
	}
	if closed {
		s.Close()
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// kindOf returns the kind that a test means by a file's name.
func kindOf(path string) Kind {
	if filepath.Base(path) == "ledger.db" {
		return Ledger
	}
	return Journal
}

func openTest(t testing.TB, path string) *Bolt {
	t.Helper()
	s, err := Open(t.Context(), path, Options{Kind: kindOf(path)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func verifyBytes(data []byte) error {
	_, err := verify(bytes.NewReader(data), int64(len(data)), Journal)
	return err
}

// intact fails the test unless bbolt opens data as a file, reads all of it for
// its free pages, and finds these records.
func intact(t testing.TB, data []byte, records []Write) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.db")
	if err := os.WriteFile(path, data, fileMode); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(path, fileMode, &bbolt.Options{ReadOnly: true, PreLoadFreelist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(recordsBucket)
		for _, w := range records {
			if got := b.Get(w.Key); !bytes.Equal(got, frame(w.Key, w.Value)) {
				t.Errorf("Get(%.10q) = %.20q", w.Key, got)
			}
		}
		if n := b.Stats().KeyN; n != len(records) {
			t.Errorf("%d records, want %d", n, len(records))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestNoBitHidesARecord turns one bit of each byte. Verify must notice it,
// unless the byte means nothing: then all of those together must not matter.
// Of a page that can be missing no byte means anything.
func TestNoBitHidesARecord(t *testing.T) {
	kept, _ := sampleRecords()
	for _, closed := range []bool{true, false} {
		t.Run(fmt.Sprint("closed=", closed), func(t *testing.T) {
			data := sampleFile(t, closed)
			if err := verifyBytes(data); err != nil {
				t.Fatal(err)
			}
			all := bytes.Clone(data)
			tried, unnoticed := 0, 0
			for at := 0; at < len(data); at += pageSize {
				if closed && page(data[at:]).flags() != freelistFlag {
					continue // only this makes a difference
				}
				without := bytes.Clone(data)
				clear(without[at : at+pageSize])
				if verifyBytes(without) == nil {
					clear(all[at : at+pageSize])
					continue
				}
				tried += pageSize
				unnoticed += turnBits(t, data, all, at)
			}
			t.Logf("%d bytes, of which %d mean nothing", tried, unnoticed)
			intact(t, all, kept)
		})
	}
}

// turnBits turns bits of one page of data. Those that verify does not notice
// it turns in all, too, and counts.
func turnBits(t *testing.T, data, all []byte, at int) (unnoticed int) {
	for i := at; i < at+pageSize; i++ {
		bit := byte(1) << (i % 8)
		data[i] ^= bit
		switch err := verifyBytes(data); {
		case err == nil:
			all[i] ^= bit
			unnoticed++
		case !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign):
			t.Errorf("byte %d: %v", i, err)
		}
		data[i] ^= bit
	}
	return unnoticed
}

// TestNoPageHidesARecord puts each page, and an empty one, in place of each
// other. Verify must notice it, unless the page means nothing.
func TestNoPageHidesARecord(t *testing.T) {
	kept, _ := sampleRecords()
	data := sampleFile(t, false)
	pages := len(data) / pageSize
	from := append(bytes.Clone(data), make([]byte, pageSize)...)
	all := bytes.Clone(data)
	unnoticed := 0
	for i := range pages {
		for j := range pages + 1 {
			bad := bytes.Clone(data)
			copy(bad[i*pageSize:], from[j*pageSize:(j+1)*pageSize])
			switch err := verifyBytes(bad); {
			case err == nil:
				copy(all[i*pageSize:], from[j*pageSize:(j+1)*pageSize])
				unnoticed++
			case !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign):
				t.Errorf("page %d in place of page %d: %v", j, i, err)
			}
		}
	}
	t.Logf("%d pages, %d exchanges, of which %d mean nothing", pages, pages*(pages+1), unnoticed)
	intact(t, all, kept)
}

// TestTruncated cuts the file off everywhere a page begins, and before.
func TestTruncated(t *testing.T) {
	kept, _ := sampleRecords()
	data := sampleFile(t, true)
	needed := len(data)
	for n := len(data); n >= 0; n -= pageSize / 2 {
		err := verifyBytes(data[:n])
		if err == nil && needed-n <= pageSize/2 {
			needed = n // bbolt's file ends in pages not yet used
		} else if !errors.Is(err, ErrDamaged) {
			t.Errorf("%d of %d bytes: %v, want ErrDamaged", n, len(data), err)
		}
	}
	if needed == 0 || needed%pageSize != 0 {
		t.Errorf("%d bytes are enough", needed)
	}
	intact(t, data[:needed], kept)
}

// FuzzVerify changes a run of bytes. Whatever verify lets pass must open, in
// a bbolt that ends the process when it meets a page it does not expect, and
// hold what it held.
func FuzzVerify(f *testing.F) {
	data, err := os.ReadFile("testdata/journal-v1.db")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), []byte(nil))
	f.Add(uint32(pageSize), data[:pageSize])
	f.Add(uint32(2*pageSize), []byte{2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0})
	kept, _ := sampleRecords()
	f.Fuzz(func(t *testing.T, at uint32, patch []byte) {
		bad := bytes.Clone(data)
		copy(bad[int(at)%len(bad):], patch)
		if err := verifyBytes(bad); err == nil {
			intact(t, bad, kept)
		} else if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign) {
			t.Errorf("%v, want ErrDamaged", err)
		}
	})
}
