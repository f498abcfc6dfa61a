package tpm

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-tpm/tpm2"
)

// setAuth sets the authorization value of a hierarchy.
func (r *rig) setAuth(hierarchy tpm2.TPMHandle, old, auth []byte) {
	r.t.Helper()
	must(r, tpm2.HierarchyChangeAuth{
		AuthHandle: tpm2.AuthHandle{Handle: hierarchy, Auth: tpm2.PasswordAuth(old)},
		NewAuth:    tpm2.TPM2BAuth{Buffer: auth},
	})
}

// configured returns a Counter with the given authorizations.
func (r *rig) configured(owner, endorsement []byte) *Counter {
	r.t.Helper()
	c, err := NewCounter(CounterConfig{
		Device: r.device(), StateDir: r.t.TempDir(), OwnerAuth: owner, EK: EKOptions{Auth: endorsement},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func TestHierarchyAuth(t *testing.T) {
	owner, endorsement := []byte("owner\x00with a zero"), []byte("\x00endorsement\x00\x00")
	eachTPM(t, func(t *testing.T, r *rig) {
		r.setAuth(tpm2.TPMRHOwner, nil, owner)
		r.setAuth(tpm2.TPMRHEndorsement, nil, endorsement)
		for _, bad := range []struct {
			owner, endorsement []byte
			want               error
			flag               string
		}{
			{nil, endorsement, ErrOwnerAuth, "--owner-auth-file"},
			{[]byte("owner"), endorsement, ErrOwnerAuth, "--owner-auth-file"},
			{owner, nil, ErrEndorsementAuth, "--endorsement-auth-file"},
			{owner, []byte("wrong"), ErrEndorsementAuth, "--endorsement-auth-file"},
		} {
			c := r.configured(bad.owner, bad.endorsement)
			if err := c.Define(t.Context()); !errors.Is(err, bad.want) || !strings.Contains(err.Error(), bad.flag) {
				t.Errorf("define as %q, %q: %v, want %v", bad.owner, bad.endorsement, err, bad.want)
			}
			if status, err := c.Status(t.Context()); err != nil || status.State != Absent {
				t.Errorf("status after a refused definition: %+v, %v", status, err)
			}
		}
		var rec recorder
		r.meddle(rec.hook)
		c := r.configured(owner, endorsement)
		if err := c.Define(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.next(c)
		for name, secret := range map[string][]byte{"owner": owner, "endorsement": endorsement, "index": c.auth} {
			if rec.saw(trimAuth(secret)) {
				t.Errorf("the %s authorization was sent in the clear", name)
			}
		}
		// Neither Next nor Undefine by others.
		wrong := r.configured([]byte("wrong"), endorsement)
		if err := wrong.Undefine(t.Context()); !errors.Is(err, ErrOwnerAuth) {
			t.Errorf("undefine as another owner: %v", err)
		}
		r.next(c)
		if err := c.Undefine(t.Context()); err != nil {
			t.Error(err)
		}
		if p, err := r.dev.Properties(t.Context()); err != nil || !p.OwnerAuthSet || !p.EndorsementAuthSet || p.LockoutAuthSet || p.LockoutCounter != 0 {
			t.Errorf("properties %+v, %v", p, err)
		}
	})
}

// TestSecretsAreStoredFirst looks at the state folder when TPM2_NV_DefineSpace
// is about to be sent.
func TestSecretsAreStoredFirst(t *testing.T) {
	r := referenceRig(t)
	dir := t.TempDir()
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
	if got, err := c.Incarnation(t.Context()); err != nil || string(got[:]) != string(stored) {
		t.Errorf("incarnation %x in the TPM, %x stored (%v)", got, stored, err)
	}
	if left := strings.Count(readFolder(t, dir), "="); left < 2 {
		t.Errorf("%d files", left)
	}
}

// TestCrashInDefine breaks off a definition at each of its commands, before it
// takes effect and after it. The next start goes on.
func TestCrashInDefine(t *testing.T) {
	var steps []string
	eachTPM(t, func(t *testing.T, r *rig) {
		var rec recorder
		r.meddle(rec.hook)
		r.counter()
		r.meddle(nil)
		r.undefine()
		steps = rec.take()
		all := ledger{t: t}
		for at := range steps {
			for _, effect := range []bool{false, true} {
				dir := t.TempDir()
				crashed := r.newCounter(dir)
				n, dead := -1, false
				r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
					if cc != tpm2.TPMCCGetCapability {
						n++
					}
					if dead || n == at {
						if !dead && effect {
							_, _, _ = next(cmd)
						}
						dead = true
						return nil, true, io.EOF
					}
					return next(cmd)
				})
				if err := crashed.Define(context.Background()); err == nil {
					t.Errorf("define that dies in command %d, %s: no error", at, steps[at])
				}
				r.meddle(nil)
				c := r.newCounter(dir)
				before, err := c.Status(t.Context())
				if err != nil || before.Problem != nil {
					t.Errorf("status after a crash in command %d, %s: %+v, %v", at, steps[at], before, err)
				}
				if err := c.Define(t.Context()); err != nil {
					t.Errorf("define after a crash in command %d, %s: %v", at, steps[at], err)
					continue
				}
				if before.State != Absent && before.Incarnation != c.pinned {
					t.Errorf("the second start found another incarnation than it said")
				}
				all.add(r.next(c))
				r.undefine()
			}
		}
	})
	if len(steps) < 8 {
		t.Errorf("a definition takes only %v: this test shows nothing", steps)
	}
}

// TestDefineHealsItself loses one answer of each command of a definition.
func TestDefineHealsItself(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		for _, effect := range []bool{false, true} {
			for at := 0; ; at++ {
				n := -1
				r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
					if cc != tpm2.TPMCCGetCapability {
						n++
					}
					if n != at || cc == tpm2.TPMCCGetCapability {
						return next(cmd)
					}
					if effect {
						_, _, _ = next(cmd)
					}
					return nil, true, io.EOF
				})
				c, _ := r.counter()
				r.meddle(nil)
				r.next(c)
				r.undefine()
				if n < at {
					break
				}
			}
		}
	})
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
