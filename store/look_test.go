package store

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

// TestLook looks at a store through its life, and changes nothing in it.
func TestLook(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "journal")
	looks := func(want error) {
		t.Helper()
		before, _ := os.ReadFile(path)
		v, err := Look(path, Journal)
		if want == nil && (v != version || err != nil) || !errors.Is(err, want) {
			t.Errorf("looked and saw version %d, %v, want %v", v, err, want)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Error("the file was changed")
		}
	}
	looks(fs.ErrNotExist)
	if left, err := os.ReadDir(folder); len(left) > 0 || err != nil {
		t.Errorf("looking has made %v, %v", left, err)
	}

	s := openTest(t, path)
	looks(ErrInUse)
	s.Close()
	looks(nil)
	if _, err := Look(path, Ledger); !errors.Is(err, ErrForeign) {
		t.Errorf("a journal as a ledger: %v", err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	looks(ErrForeign)
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}

	update(t, path, func(tx *bbolt.Tx) error {
		return tx.Bucket(formatBucket).Put(formatKey, frame(formatKey, []byte("2 journal")))
	})
	looks(ErrNewer)
	if err := os.Truncate(path, pageSize); err != nil {
		t.Fatal(err)
	}
	looks(ErrDamaged)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	looks(ErrLost)
}

// TestLookAtLog: a ledger is looked at with its log.
func TestLookAtLog(t *testing.T) {
	s, path := newLedger(t)
	commit(t, s, "a", nil)
	commit(t, s, "b", nil)
	whole := imageOf(t, path)
	looks := func(i image, want error) {
		t.Helper()
		path := i.place(t)
		if v, err := Look(path, Ledger); !errors.Is(err, want) || err == nil && v != version {
			t.Errorf("Look = %d, %v, want %v", v, err, want)
		}
		if after := imageOf(t, path); !maps.EqualFunc(after, i, bytes.Equal) {
			t.Error("Look changed something")
		}
	}
	looks(whole, nil)
	damaged := bytes.Clone(whole[logName])
	damaged[logHeader+entryStart] ^= 0x40
	looks(whole.with(damaged), ErrDamaged)
	without := maps.Clone(whole)
	delete(without, logName)
	looks(without, ErrLost)
}
