package tpm

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-tpm/tpm2"
)

// TestSomebodyElsesCounter meets a counter of exactly opmint's form, made by
// another installation.
func TestSomebodyElsesCounter(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		theirs, dir := r.counter()
		r.next(theirs)
		before := r.photo(theirs.auth)
		for name, prepare := range map[string]func(dir string){
			"no index.auth":        func(string) {},
			"another index.auth":   func(dir string) { writeFile(t, dir, authFile, bytes.Repeat([]byte{9}, secretSize)) },
			"short index.auth":     func(dir string) { writeFile(t, dir, authFile, []byte("half")) },
			"empty index.auth":     func(dir string) { writeFile(t, dir, authFile, nil) },
			"long index.auth":      func(dir string) { writeFile(t, dir, authFile, make([]byte, secretSize+1)) },
			"enormous index.auth":  func(dir string) { writeFile(t, dir, authFile, make([]byte, 1<<20)) },
			"only the incarnation": func(dir string) { writeFile(t, dir, incarnationFile, theirs.pinned[:]) },
		} {
			own := t.TempDir()
			prepare(own)
			files := readFolder(t, own)
			c := r.newCounter(own)
			for what, err := range map[string]error{
				"Define": c.Define(t.Context()),
				"Next":   func() error { _, err := c.Next(t.Context()); return err }(),
				"Read":   func() error { _, err := c.Read(t.Context()); return err }(),
			} {
				if !errors.Is(err, ErrAuthLost) || !strings.Contains(err.Error(), "opmint provision --new-index") ||
					!strings.Contains(err.Error(), "if another daemon uses this index, choose another with --nv-index") {
					t.Errorf("%s: %s: %v, want ErrAuthLost and advice", name, what, err)
				}
			}
			status, err := c.Status(t.Context())
			if err != nil || status.State != AuthLost || !errors.Is(status.Problem, ErrAuthLost) ||
				status.Incarnation != theirs.pinned {
				t.Errorf("%s: status %+v, %v", name, status, err)
			}
			if now := readFolder(t, own); now != files {
				t.Errorf("%s: the state folder was changed: %q, was %q", name, now, files)
			}
			if after := r.photo(theirs.auth); after != before {
				t.Errorf("%s: the counter was touched", name)
			}
		}
		// Opened by its own file, it goes on.
		r.next(r.newCounter(dir))
	})
}

// TestSwappedUnderUs replaces the counter by one that looks the same.
func TestSwappedUnderUs(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		c, _ := r.counter()
		r.next(c)
		old := c.pinned
		r.undefine()
		theirs := []byte("not the same value")
		r.plant(theirs, func(p *tpm2.TPMSNVPublic) { p.AuthPolicy.Buffer = old[:] })
		r.write(theirs)
		before := r.photo(theirs)
		if v, err := c.Next(t.Context()); !errors.Is(err, ErrAuthLost) {
			t.Errorf("claim %d, %v, want ErrAuthLost", v, err)
		}
		if after := r.photo(theirs); after != before {
			t.Error("it was touched")
		}
	})
}

// TestNewIndex is what `opmint provision --new-index` does where the
// authorization value is lost.
func TestNewIndex(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		lost, _ := r.counter()
		all := ledger{t: t}
		all.add(r.next(lost))
		c := r.newCounter(t.TempDir())
		if err := c.Undefine(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.Undefine(t.Context()); err != nil {
			t.Errorf("undefine of nothing: %v", err)
		}
		if c.Changed() {
			t.Error("undefine of nothing says that it changed something")
		}
		if status, err := c.Status(t.Context()); err != nil || status.State != Absent || status.Problem != nil {
			t.Errorf("status %+v, %v", status, err)
		}
		if err := c.Define(t.Context()); err != nil {
			t.Fatal(err)
		}
		all.add(r.next(c))
		if _, err := lost.Next(t.Context()); !errors.Is(err, ErrRedefined) {
			t.Errorf("the old daemon: %v, want ErrRedefined", err)
		}
		status, err := c.Status(t.Context())
		if err != nil || status.State != Ready || status.Value != all.values[1] || status.Incarnation == lost.pinned {
			t.Errorf("status %+v, %v", status, err)
		}
	})
}

// TestUndefineAnother has somebody delete the index and make a new one between
// Status and Undefine, or while the answer to the deletion is lost.
func TestUndefineAnother(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		_, dir := r.counter()
		c := r.newCounter(dir)
		if _, err := c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.undefine()
		theirs := r.newCounter(dir)
		if err := theirs.Define(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.Undefine(t.Context()); !errors.Is(err, ErrRedefined) {
			t.Errorf("undefine of another index than Status saw: %v", err)
		}
		r.next(theirs)
		if _, err := c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
		lost := false
		r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
			if cc != tpm2.TPMCCNVUndefineSpace || lost {
				return next(cmd)
			}
			lost = true
			_, _, _ = next(cmd)
			l := &link{ctx: t.Context(), wire: borrowed(next)}
			if _, err := run(l, tpm2.NVDefineSpace{
				AuthHandle: tpm2.TPMRHOwner, PublicInfo: tpm2.New2B(indexPublic(DefaultIndex, [secretSize]byte{1}, false)),
			}); err != nil {
				t.Error(err)
			}
			return nil, true, errDropped
		})
		if err := c.Undefine(t.Context()); err != nil {
			t.Errorf("undefine whose answer was lost: %v", err)
		}
		r.meddle(nil)
		if status, err := c.Status(t.Context()); err != nil || status.Incarnation != [secretSize]byte{1} {
			t.Errorf("the new index of somebody else: %+v, %v", status, err)
		}
	})
}

// readFolder returns names and contents of a folder's files.
func readFolder(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(e.Name() + "=" + string(data) + "\n")
	}
	return all.String()
}
