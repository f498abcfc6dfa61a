package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestTornEntry: what a crash leaves of the entry that was being appended, whichever of
// its sectors got to the disk, is the commit before it or the commit itself.
func TestTornEntry(t *testing.T) {
	s, path := newLedger(t)
	commit(t, s, "a", nil)
	before := imageOf(t, path)
	end := int(s.recent.log.end)
	large := Write{Key: []byte("b"), Value: bytes.Repeat([]byte("value "), 500)}
	if err := s.Commit(t.Context(), nil, []Write{large}); err != nil {
		t.Fatal(err)
	}
	after := imageOf(t, path)
	const sector = 512
	first, last := end/sector, (int(s.recent.log.end)-1)/sector
	for lost := first; lost <= last; lost++ {
		for n := 1; lost+n <= last+1; n++ {
			log := bytes.Clone(after[logName])
			copy(log[lost*sector:(lost+n)*sector], before[logName][lost*sector:])
			if got := after.with(log).opens(t); got != "a" {
				t.Errorf("without %d sectors from %d: found %q", n, lost, got)
			}
		}
	}
	for cut := end; cut < end+64; cut += 7 {
		if got := after.with(after[logName][:cut]).opens(t); got != "a" {
			t.Errorf("cut at %d: found %q", cut, got)
		}
	}
	if got := after.opens(t); got != "a b" {
		t.Errorf("all of it: found %q", got)
	}
}

// TestAfterTornEntry: a log whose last entry was torn goes on, and what is left of that
// entry is never taken for one.
func TestAfterTornEntry(t *testing.T) {
	s, path := newLedger(t)
	commit(t, s, "a", nil)
	// A value in which there is a whole entry, at every place where one could be.
	entry := imageOf(t, path)[logName][logHeader:][:logAlign]
	value := slices.Concat(make([]byte, logAlign-entryStart-5), bytes.Repeat(entry, 100))
	if err := s.Commit(t.Context(), nil, []Write{{Key: []byte("b"), Value: value}}); err != nil {
		t.Fatal(err)
	}
	torn := imageOf(t, path)
	torn[logName][s.recent.log.end-logAlign] ^= 1
	path = torn.place(t)
	for i := range 3 {
		s := openTest(t, path)
		commit(t, s, fmt.Sprint("c", i), nil)
		path = imageOf(t, path).place(t)
	}
	if got := imageOf(t, path).opens(t); got != "a c0 c1 c2" {
		t.Errorf("found %q", got)
	}
}

// TestDamagedLog: a wrong byte in an entry is noticed, unless it is the last one; and so
// is one in the header.
func TestDamagedLog(t *testing.T) {
	s, path := newLedger(t)
	for i := range 5 {
		commit(t, s, fmt.Sprint(i), nil)
	}
	whole := imageOf(t, path)
	for at := 0; at < int(s.recent.log.end)-logAlign; at++ {
		log := bytes.Clone(whole[logName])
		log[at] ^= 0x10
		s, err := Open(t.Context(), whole.with(log).place(t), Options{Kind: Ledger})
		if err == nil {
			padding := log[at] == 0x10 && keysIn(t, s) == "0 1 2 3 4"
			if s.Close(); !padding {
				t.Errorf("byte %d: unnoticed", at)
			}
		} else if !errors.Is(err, ErrDamaged) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
	for _, log := range [][]byte{nil, whole[logName][:logHeader-1], []byte(strings.Repeat("x", 5000))} {
		openErr(t, whole.with(log).place(t), ErrDamaged)
	}
}

// TestLostLog: a store whose log is gone is lost, and is opened without if that is
// accepted.
func TestLostLog(t *testing.T) {
	s, path := newLedger(t)
	commit(t, s, "a", nil)
	if err := s.writeRecent(); err != nil {
		t.Fatal(err)
	}
	commit(t, s, "b", nil)
	without := imageOf(t, path)
	delete(without, logName)
	path = without.place(t)
	openErr(t, path, ErrLost)
	s, err := Open(t.Context(), path, Options{Kind: Ledger, AcceptLoss: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := keysIn(t, s); got != "a" {
		t.Errorf("found %q", got)
	}
	s.Close()
	if got := imageOf(t, path).opens(t); got != "a" {
		t.Errorf("later %q", got)
	}
}

// TestLostFileNewLog: a store that is made anew begins without what the log of the lost
// one has.
func TestLostFileNewLog(t *testing.T) {
	s, path := newLedger(t)
	commit(t, s, "a", nil)
	without := imageOf(t, path)
	delete(without, "ledger.db")
	path = without.place(t)
	openErr(t, path, ErrLost)
	s, err := Open(t.Context(), path, Options{Kind: Ledger, AcceptLoss: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := keysIn(t, s); got != "" {
		t.Errorf("found %q", got)
	}
}

// TestLogOfAnotherTime: file and log of two times are not taken for a store.
func TestLogOfAnotherTime(t *testing.T) {
	s, path := newLedger(t)
	var images []image
	for i := range 6 {
		commit(t, s, fmt.Sprint(i), nil)
		images = append(images, imageOf(t, path))
		if err := s.writeRecent(); err != nil {
			t.Fatal(err)
		}
	}
	for i, file := range images {
		for j, log := range images {
			if i != j {
				openErr(t, file.with(log[logName]).place(t), ErrDamaged)
			}
		}
	}
	openErr(t, image{"ledger.db": images[0]["ledger.db"], logName: []byte{}, "ledger.db.created": nil}.place(t), ErrDamaged)
}

// TestForeignLog: one that others can write is not read.
func TestForeignLog(t *testing.T) {
	s, path := newLedger(t)
	commit(t, s, "a", nil)
	path = imageOf(t, path).place(t)
	if err := os.Chmod(logPath(path), 0o640); err != nil {
		t.Fatal(err)
	}
	openErr(t, path, ErrForeign)
}

// TestLogIsBounded: it begins anew, also if the same key is written again and again.
func TestLogIsBounded(t *testing.T) {
	s, path := newLedger(t)
	s.SetMaxLogged(100_000)
	value := make([]byte, 5000)
	for range 100 {
		if err := s.Commit(t.Context(), nil, []Write{{Key: []byte("a"), Value: value}}); err != nil {
			t.Fatal(err)
		}
	}
	if end := s.recent.log.end; end > 210_000 {
		t.Errorf("%d bytes of log", end)
	}
	if got := imageOf(t, path).opens(t); got != "a" {
		t.Errorf("found %q", got)
	}
}

// FuzzLog: whatever stands in a log, it is read or refused.
func FuzzLog(f *testing.F) {
	s, path := newLedger(f)
	commitF := func(key string) {
		if err := s.Commit(f.Context(), nil, put(key)); err != nil {
			f.Fatal(err)
		}
	}
	commitF("a")
	commitF("b")
	data := imageOf(f, path)[logName][:s.recent.log.end+logAlign]
	f.Add(data)
	f.Add(data[:70])
	f.Add([]byte(logMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		l := &logFile{file: bytes.NewReader(data)}
		err := l.load(int64(len(data)), func(body []byte) error { return eachWrite(body, func(Write) {}) })
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
		if err == nil && (l.end < logHeader || l.end > int64(len(data))+logAlign) {
			t.Errorf("the log ends at %d of %d", l.end, len(data))
		}
	})
}
