package main

import (
	"testing"

	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/vtpmdetect"
)

// TestJudgedBySight: what a software TPM is, the daemon sees for itself, and tells
// on what the class rests.
func TestJudgedBySight(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		args    []string
		class   keygen.Class
		assumed bool
	}{
		{nil, keygen.ClassV, false},
		{[]string{"--assume", "virtual"}, keygen.ClassV, true},
		{[]string{"--assume", "physical"}, keygen.ClassH, true},
	} {
		p := launch(t, append([]string{"--tpm", r.addr, "--state", r.state, "--socket", r.socket}, c.args...)...)
		p.client.Socket = r.socket
		if !p.logs("msg=started") {
			t.Fatalf("the daemon did not start:\n%s", p.output())
		}
		id := p.identity()
		if id.Class != c.class || id.Assumed != c.assumed || p.mint(1)[0].Class() != c.class {
			t.Errorf("%v: class %s, assumed %v", c.args, id.Class, id.Assumed)
		}
		if tpm := id.Evidence.TPM; tpm == nil || tpm.Manufacturer != 0x49424d00 || id.Verdict.TPM != vtpmdetect.TPMVirtual ||
			id.Verdict.Class != vtpmdetect.ClassV || len(id.Verdict.Reasons) == 0 {
			t.Errorf("%v: it saw %+v, and says %+v", c.args, tpm, id.Verdict)
		}
		if id.FreshRandomness != keygen.NewFreshRandom().Fresh() || id.Counter == nil || len(id.EKFingerprint) != 71 {
			t.Errorf("%v: the identity is %+v", c.args, id)
		}
		p.stop()
	}
}

// TestWithoutTPM: in class j nothing is told of a TPM.
func TestWithoutTPM(t *testing.T) {
	r := newRig(t)
	p := launch(t, "--tpm", "none", "--state", r.state, "--socket", r.socket)
	p.client.Socket = r.socket
	if !p.logs("msg=started") {
		t.Fatalf("the daemon did not start:\n%s", p.output())
	}
	id := p.identity()
	if id.Class != keygen.ClassJ || id.Assumed || len(id.Minter) != 32 ||
		id.Counter != nil || id.EKFingerprint != "" || id.Incarnation != "" {
		t.Errorf("the identity is %+v", id)
	}
	for range 2 * bucketSize {
		if _, err := p.client.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if ready, err := p.client.Ready(t.Context()); err != nil || ready.Warning != "" {
		t.Errorf("it is %+v, %v", ready, err)
	}
	p.knows(p.mint(1)[0])
	p.stop()
	r.checkUntouched()
}
