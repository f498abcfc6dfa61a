package tpm

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/google/go-tpm/tpm2"
)

// strangers are indexes that are not opmint's, each but for one thing.
var strangers = []struct {
	name  string
	alter func(*tpm2.TPMSNVPublic)
}{
	{"ordinary memory", func(p *tpm2.TPMSNVPublic) { p.Attributes.NT = tpm2.TPMNTOrdinary }},
	{"larger memory", func(p *tpm2.TPMSNVPublic) { p.Attributes.NT, p.DataSize = tpm2.TPMNTOrdinary, 64 }},
	{"bit field", func(p *tpm2.TPMSNVPublic) { p.Attributes.NT = tpm2.TPMNTBits }},
	{"extended hash", func(p *tpm2.TPMSNVPublic) { p.Attributes.NT, p.DataSize = tpm2.TPMNTExtend, 32 }},
	{"no policy", func(p *tpm2.TPMSNVPublic) { p.AuthPolicy.Buffer = nil }},
	{"other name algorithm", func(p *tpm2.TPMSNVPublic) {
		p.NameAlg, p.AuthPolicy.Buffer = tpm2.TPMAlgSHA384, bytes.Repeat([]byte{7}, 48)
	}},
	{"orderly", func(p *tpm2.TPMSNVPublic) { p.Attributes.Orderly = true }},
	{"dictionary attack protection", func(p *tpm2.TPMSNVPublic) { p.Attributes.NoDA = false }},
	{"policy write", func(p *tpm2.TPMSNVPublic) { p.Attributes.PolicyWrite = true }},
	{"policy read", func(p *tpm2.TPMSNVPublic) { p.Attributes.PolicyRead = true }},
	{"owner write", func(p *tpm2.TPMSNVPublic) { p.Attributes.OwnerWrite = true }},
	{"no owner read", func(p *tpm2.TPMSNVPublic) { p.Attributes.OwnerRead = false }},
	{"no auth write", func(p *tpm2.TPMSNVPublic) { p.Attributes.AuthWrite, p.Attributes.OwnerWrite = false, true }},
	{"read lock", func(p *tpm2.TPMSNVPublic) { p.Attributes.ReadSTClear = true }},
}

// plant defines an index as a stranger would, with the authorization value auth.
func (r *rig) plant(auth []byte, alter func(*tpm2.TPMSNVPublic)) {
	r.t.Helper()
	public := indexPublic(DefaultIndex, [secretSize]byte{1, 2, 3}, false)
	alter(&public)
	must(r, tpm2.NVDefineSpace{
		AuthHandle: tpm2.TPMRHOwner, Auth: tpm2.TPM2BAuth{Buffer: auth}, PublicInfo: tpm2.New2B(public),
	})
}

// write gives a planted index its first content, if its kind has any use for
// our increment's cousins; it then shows WRITTEN.
func (r *rig) write(auth []byte) {
	r.t.Helper()
	rsp := must(r, tpm2.NVReadPublic{NVIndex: tpm2.TPMHandle(DefaultIndex)})
	public, err := rsp.NVPublic.Contents()
	if err != nil {
		r.t.Fatal(err)
	}
	index := tpm2.AuthHandle{Handle: DefaultIndex, Name: rsp.NVName, Auth: tpm2.PasswordAuth(auth)}
	by := index
	if !public.Attributes.AuthWrite {
		by = tpm2.AuthHandle{Handle: tpm2.TPMRHOwner, Auth: tpm2.PasswordAuth(nil)}
	}
	switch public.Attributes.NT {
	case tpm2.TPMNTCounter:
		must(r, tpm2.NVIncrement{AuthHandle: by, NVIndex: index})
	case tpm2.TPMNTOrdinary:
		data := make([]byte, public.DataSize)
		must(r, tpm2.NVWrite{AuthHandle: by, NVIndex: index, Data: tpm2.TPM2BMaxNVBuffer{Buffer: data}})
	}
}

// photo is all that a stranger could notice: the public area and the content of
// the index, and the wrong authorizations that the TPM has counted.
func (r *rig) photo(auth []byte) string {
	r.t.Helper()
	rsp := must(r, tpm2.NVReadPublic{NVIndex: tpm2.TPMHandle(DefaultIndex)})
	public, err := rsp.NVPublic.Contents()
	if err != nil {
		r.t.Fatal(err)
	}
	content := []byte("never written")
	if public.Attributes.Written {
		index := tpm2.AuthHandle{Handle: DefaultIndex, Name: rsp.NVName, Auth: tpm2.PasswordAuth(auth)}
		content = must(r, tpm2.NVRead{AuthHandle: index, NVIndex: index, Size: public.DataSize}).Data.Buffer
	}
	var failures uint32
	r.raw(func(l *link) {
		now, err := l.properties(tpm2.TPMPTLockoutCounter, tpm2.TPMPTLockoutCounter)
		if err != nil {
			r.t.Fatal(err)
		}
		failures = now[tpm2.TPMPTLockoutCounter]
	})
	return string(rsp.NVPublic.Bytes()) + string(content) + string(rune(failures))
}

// refuse runs every operation of c and expects the error of each to be want.
func refuse(t *testing.T, c *Counter, want error) {
	t.Helper()
	ctx := t.Context()
	for name, operation := range map[string]func() error{
		"Define":      func() error { return c.Define(ctx) },
		"Read":        func() error { _, err := c.Read(ctx); return err },
		"Next":        func() error { _, err := c.Next(ctx); return err },
		"Incarnation": func() error { _, err := c.Incarnation(ctx); return err },
		"Undefine":    func() error { return c.Undefine(ctx) },
	} {
		if err := operation(); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

func TestStrangerAtStart(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		for _, written := range []bool{false, true} {
			for _, s := range strangers {
				auth := []byte("the stranger's")
				r.plant(auth, s.alter)
				if written {
					r.write(auth)
				}
				before := r.photo(auth)
				dir := t.TempDir()
				c := r.newCounter(dir)
				refuse(t, c, ErrStranger)
				status, err := c.Status(t.Context())
				if err != nil || status.State != Stranger || !errors.Is(status.Problem, ErrStranger) {
					t.Errorf("%s: status %+v, %v", s.name, status, err)
				}
				if after := r.photo(auth); after != before {
					t.Errorf("%s was touched: %q, was %q", s.name, after, before)
				}
				if left, _ := os.ReadDir(dir); len(left) > 0 {
					t.Errorf("%s: files for an index that is not ours: %v", s.name, left)
				}
				r.undefine()
			}
		}
	})
}

func TestStrangerAtALaterClaim(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		c, _ := r.counter()
		r.next(c)
		old := c.pinned
		for _, s := range strangers {
			r.undefine()
			// It even has our authorization value and our incarnation.
			r.plant(c.auth, func(p *tpm2.TPMSNVPublic) { p.AuthPolicy.Buffer = old[:]; s.alter(p) })
			r.write(c.auth)
			before := r.photo(c.auth)
			if v, err := c.Next(t.Context()); !errors.Is(err, ErrStranger) {
				t.Errorf("%s: claim %d, %v, want ErrStranger", s.name, v, err)
			}
			if _, err := c.Read(t.Context()); !errors.Is(err, ErrStranger) {
				t.Errorf("%s: read: %v, want ErrStranger", s.name, err)
			}
			if after := r.photo(c.auth); after != before {
				t.Errorf("%s was touched", s.name)
			}
		}
		r.undefine()
		r.plant(c.auth, func(p *tpm2.TPMSNVPublic) { p.AuthPolicy.Buffer = old[:] })
		if _, err := c.Next(t.Context()); !errors.Is(err, ErrStranger) {
			t.Errorf("a counter that was never incremented: %v, want ErrStranger", err)
		}
	})
}
