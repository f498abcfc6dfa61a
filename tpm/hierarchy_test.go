package tpm

import (
	"errors"
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
	owner := []byte("owner, with a zero\x00inside and two at the end\x00\x00")
	endorsement := []byte("\x00endorsement\x00\x00")
	eachTPM(t, func(t *testing.T, r *rig) {
		r.setAuth(tpm2.TPMRHOwner, nil, owner)
		r.setAuth(tpm2.TPMRHEndorsement, nil, endorsement)
		for _, bad := range []struct {
			owner, endorsement []byte
			want               error
			flag               string
		}{
			{nil, endorsement, ErrOwnerAuth, "give the right one with --owner-auth-file"},
			{[]byte("owner"), endorsement, ErrOwnerAuth, "give the right one with --owner-auth-file"},
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
		p, err := r.dev.Properties(t.Context())
		if err != nil || !p.OwnerAuthSet || !p.EndorsementAuthSet || p.LockoutAuthSet || p.LockoutCounter != 0 {
			t.Errorf("properties %+v, %v", p, err)
		}
	})
}

// TestOwnerAuthGone: whoever has a file with an authorization value, and a TPM that was
// cleared, is told that there is none any more.
func TestOwnerAuthGone(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		c := r.configured([]byte("secret"), nil)
		err := c.Define(t.Context())
		if !errors.Is(err, ErrOwnerAuth) || !strings.Contains(err.Error(), "has none now") ||
			!strings.Contains(err.Error(), "leave away --owner-auth-file") {
			t.Errorf("define with an authorization that the owner does not have: %v", err)
		}
		if err := r.configured(nil, nil).Define(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
