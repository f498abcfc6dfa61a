package tpm

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFirst: the value with which a counter began is known where it was defined,
// and is not taken for that of another one.
func TestFirst(t *testing.T) {
	r := referenceRig(t)
	dir := t.TempDir()
	c := r.newCounter(dir)
	want := func(c *Counter, want uint64) {
		t.Helper()
		if got, err := c.First(t.Context()); err != nil || got != want {
			t.Errorf("first value %d, %v, want %d", got, err, want)
		}
		s, err := c.Status(t.Context())
		if err != nil || s.State != Ready || s.First != want || s.Defined.IsZero() != (want == 0) {
			t.Errorf("status %+v, %v, want it to begin with %d", s, err, want)
		}
	}
	define := func(c *Counter) {
		t.Helper()
		if err := c.Define(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	define(c)
	want(c, 1)
	last := r.next(c)
	define(c)
	want(r.newCounter(dir), 1)

	if err := c.Undefine(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A crash may have kept the file from before.
	path := filepath.Join(dir, incarnationFile)
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	define(c)
	want(c, last+1)
	now, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range [][]byte{old, now[:secretSize], append(now, 0), nil} {
		writeFile(t, dir, incarnationFile, content)
		want(c, 0)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	want(c, 0)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := c.First(t.Context()); err == nil {
		t.Error("a folder in place of the file was no error")
	}
}

func TestWentBackErrorTells(t *testing.T) {
	if expected, seen := (&WentBackError{Before: 7, Seen: 5}).WentBack(); expected != 7 || seen != 5 {
		t.Errorf("it expected %d and saw %d", expected, seen)
	}
}
