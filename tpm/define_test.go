package tpm

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-tpm/tpm2"
)

// TestSecretsAreStoredFirst looks at the state folder when TPM2_NV_DefineSpace
// is about to be sent.
func TestSecretsAreStoredFirst(t *testing.T) {
	r := referenceRig(t)
	dir := t.TempDir()
	writeFile(t, dir, authFile+".new", []byte("of a crash"))
	c := r.newCounter(dir)
	defined := 0
	r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
		if cc == tpm2.TPMCCNVDefineSpace {
			defined++
			for _, name := range []string{authFile, incarnationFile} {
				info, err := os.Stat(filepath.Join(dir, name))
				if err != nil || info.Mode() != 0o600 || info.Size() != secretSize {
					t.Errorf("%s: %v, %v", name, info, err)
				}
			}
		}
		return next(cmd)
	})
	if err := c.Define(t.Context()); err != nil || defined != 1 {
		t.Fatalf("define: %v, %d times", err, defined)
	}
	stored, err := os.ReadFile(filepath.Join(dir, incarnationFile))
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Incarnation(t.Context())
	if want := append(got[:], 0, 0, 0, 0, 0, 0, 0, 1); err != nil || string(want) != string(stored) {
		t.Errorf("incarnation %x in the TPM, %x stored (%v)", got, stored, err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("the state folder holds %v (%v)", files, err)
	}
}

func TestUnfinishedIndex(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		dir := t.TempDir()
		auth := []byte("0123456789abcdef0123456789abcdef")
		writeFile(t, dir, authFile, auth)
		r.plant(auth, func(*tpm2.TPMSNVPublic) {})
		c := r.newCounter(dir)
		status, err := c.Status(t.Context())
		if err != nil || status.State != Unfinished || status.Problem != nil {
			t.Errorf("status %+v, %v", status, err)
		}
		if _, err := c.Next(t.Context()); !errors.Is(err, ErrNotDefined) {
			t.Errorf("claim of an index that was never incremented: %v", err)
		}
		// Two daemons start on it at once: one sees the other's increment come
		// before its own.
		twin := r.newCounter(dir)
		raced := false
		r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
			if cc == tpm2.TPMCCNVIncrement && !raced {
				raced = true
				otherHand(t, dir, next)
			}
			return next(cmd)
		})
		if err := twin.Define(t.Context()); err != nil {
			t.Error(err)
		}
		r.meddle(nil)
		if err := c.Define(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r.next(c) == r.next(twin) {
			t.Error("one value for two")
		}
	})
}

// TestDefineRace has another installation define the index just before us.
func TestDefineRace(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		c := r.newCounter(t.TempDir())
		r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
			if cc == tpm2.TPMCCNVDefineSpace {
				l := &link{ctx: context.Background(), wire: borrowed(next)}
				if _, err := run(l, tpm2.NVDefineSpace{
					AuthHandle: tpm2.TPMRHOwner,
					PublicInfo: tpm2.New2B(indexPublic(DefaultIndex, [secretSize]byte{1}, false)),
				}); err != nil {
					t.Error(err)
				}
			}
			return next(cmd)
		})
		if err := c.Define(t.Context()); !errors.Is(err, ErrAuthLost) {
			t.Errorf("define that lost a race: %v", err)
		}
	})
}

func TestDefineKeepsAuth(t *testing.T) {
	r := referenceRig(t)
	c, dir := r.counter()
	auth, err := readAuth(dir)
	if err != nil {
		t.Fatal(err)
	}
	old := c.pinned
	r.undefine()
	if err := r.newCounter(dir).Define(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now, err := readAuth(dir); err != nil || string(now) != string(auth) {
		t.Errorf("index.auth changed to %x (%v)", now, err)
	}
	if err := c.Define(t.Context()); err != nil || c.pinned == old {
		t.Errorf("the incarnation is the old one (%v)", err)
	}
}

func TestDamagedAuthWithoutIndex(t *testing.T) {
	r := referenceRig(t)
	dir := t.TempDir()
	writeFile(t, dir, authFile, []byte("half"))
	c := r.newCounter(dir)
	if err := c.Define(t.Context()); err != nil {
		t.Fatalf("a damaged index.auth of no index: %v", err)
	}
	r.next(c)
}

// TestUnusableStateFolder fails before the TPM is changed.
func TestUnusableStateFolder(t *testing.T) {
	r := referenceRig(t)
	blocked := t.TempDir()
	if err := os.Mkdir(filepath.Join(blocked, authFile), 0o700); err != nil {
		t.Fatal(err)
	}
	noIncarnation := t.TempDir()
	if err := os.Mkdir(filepath.Join(noIncarnation, incarnationFile), 0o700); err != nil {
		t.Fatal(err)
	}
	var rec recorder
	r.meddle(rec.hook)
	for name, dir := range map[string]string{
		"missing":                filepath.Join(t.TempDir(), "none"),
		"index.auth blocked":     blocked,
		"incarnation not stored": noIncarnation,
	} {
		err := r.newCounter(dir).Define(t.Context())
		if err == nil {
			t.Errorf("%s: defined", name)
		}
		if name == "missing" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
		for _, sent := range rec.take() {
			if sent != "TPM2_NV_ReadPublic" {
				t.Errorf("%s: sent %s", name, sent)
			}
		}
		if entries, err := os.ReadDir(dir); err == nil && len(entries) > 2 {
			t.Errorf("%s: left %v", name, entries)
		}
	}
}

func TestIndexRange(t *testing.T) {
	for _, index := range []uint32{1, 0x01000000, FirstIndex - 1, LastIndex + 1, 0x01C0000A, 0x81010001} {
		if _, err := NewCounter(CounterConfig{Index: index}); err == nil {
			t.Errorf("index 0x%08x was taken", index)
		}
	}
	r := referenceRig(t)
	for _, index := range []uint32{FirstIndex, LastIndex} {
		c, err := NewCounter(CounterConfig{Device: r.dev, StateDir: t.TempDir(), Index: index})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Define(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.next(c)
	}
}
