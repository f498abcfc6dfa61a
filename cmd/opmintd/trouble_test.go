package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-tpm/tpm2"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// TestTPMGone takes the TPM away from a daemon that mints, and gives it back.
func TestTPMGone(t *testing.T) {
	t.Parallel() // it waits for a TPM that does not come
	r := newRig(t)
	p := r.start()
	minted := newRecord(t)
	minted.add(p.mint(10)...)
	before := p.identity()
	r.tpm.Kill()
	minted.add(p.mint(1000)...)
	ready, err := p.client.Ready(t.Context())
	if err != nil || !strings.Contains(ready.Warning, "minting goes on in epoch 2") {
		t.Errorf("without a TPM it is %+v, %v", ready, err)
	}
	if id := p.identity(); id.Counter != nil || id.Identity != before.Identity {
		t.Errorf("without a TPM the identity is %+v", id)
	}
	p.cannotRenew(api.ErrUnavailable, busyTime)
	must(t, r.tpm.Restart())
	if ready, err := p.client.Ready(t.Context()); err != nil || ready.Warning != "" {
		t.Errorf("with the TPM again it is %+v, %v", ready, err)
	}
	// What failed has cost nothing.
	for range bucketSize {
		if _, err := p.client.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		minted.add(p.mint(10)...)
	}
	p.stop()
}

// TestUsedUpWithoutTPM needs an epoch of a TPM that does not answer.
func TestUsedUpWithoutTPM(t *testing.T) {
	r := newRig(t)
	b := newBus(r)
	p := r.start("--names-per-epoch", "5")
	minted := newRecord(t)
	minted.add(p.mint(5)...)
	b.meddle(func(tpm2.TPMCC, func() []byte) []byte { return nil })
	if _, err := p.tryMint(1); !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("minting: %v", err)
	}
	if ready, err := p.client.Ready(t.Context()); !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("it is %+v, %v", ready, err)
	}
	b.meddle(nil)
	minted.add(p.mint(5)...)
	p.stop()
}

// TestClientGone has a client that goes away while an epoch is claimed for it.
func TestClientGone(t *testing.T) {
	r := newRig(t)
	b := newBus(r)
	p := r.start("--names-per-epoch", "5")
	minted := newRecord(t)
	minted.add(p.mint(5)...)
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	b.meddle(func(cc tpm2.TPMCC, next func() []byte) []byte {
		if cc == tpm2.TPMCCNVIncrement {
			leave()
			<-gone
		}
		return next()
	})
	if _, err := p.client.Mint(ctx, api.MintRequest{}); !errors.Is(err, context.Canceled) {
		t.Errorf("minting: %v", err)
	}
	close(gone)
	// The number was claimed all the same, and is used.
	names := p.mint(4)
	minted.add(names...)
	if n := names[0]; n.Epoch() != 3 || r.value() != 3 {
		t.Errorf("%s, and the counter is at %d, want epoch 3", n, r.value())
	}
}

// TestRedefined makes the index anew under a daemon, as `opmint provision
// --new-index` does.
func TestRedefined(t *testing.T) {
	r := newRig(t)
	p := r.start()
	minted := newRecord(t)
	minted.add(p.mint(10)...)
	c := r.counter()
	must(t, c.Undefine(t.Context()))
	must(t, c.Define(t.Context()))
	if _, err := p.client.Renew(t.Context()); err == nil {
		t.Error("it was renewed")
	}
	p.endsWith(exitError, "its incarnation is another one")
	p = r.start()
	minted.add(p.mint(10)...)
}

// TestWentBack takes the TPM back in time under a daemon. A look is enough for it
// to see that, and to go on in class v under another identity, for good.
func TestWentBack(t *testing.T) {
	r := newRig(t)
	r.start().stop()
	old := filepath.Join(t.TempDir(), "old")
	must(t, r.tpm.Snapshot(old))
	p := r.start()
	minted := newRecord(t)
	minted.add(p.mint(10)...)
	before := p.identity()
	must(t, r.tpm.Rewind(old))
	if ready, err := p.client.Ready(t.Context()); err != nil || ready.Warning != "" {
		t.Errorf("it is %+v, %v", ready, err)
	}
	after := p.identity()
	if after.Class != keygen.ClassV || after.Assumed || after.Identity == before.Identity || after.Epoch <= before.Epoch {
		t.Errorf("%+v became %+v", before, after)
	}
	p.wantRollbacks("tpm")
	p.wantMetrics(`opmint_rollbacks_total{what="tpm"} 1`, `opmint_class{class="v"} 1`)
	if r := after.Rollbacks[0]; r.Seen != 2 || r.Expected != 3 {
		t.Errorf("the rollback is %+v, want 2 seen and 3 expected", r)
	}
	minted.add(p.mint(10)...)
	p.stop()
	p = r.start()
	minted.add(p.mint(10)...)
	if id := p.identity(); id.Class != keygen.ClassV || id.Assumed {
		t.Errorf("after a restart it is %+v", id)
	}
	p.wantRollbacks("tpm")
	p.stop()
	c := r.counter()
	must(t, c.Undefine(t.Context()))
	must(t, c.Define(t.Context()))
	p = r.start()
	if id := p.identity(); id.Class != keygen.ClassH || !id.Assumed {
		t.Errorf("with a new index it is %+v", id)
	}
}

// TestOutcomeUnknown has a TPM whose answers to increments are lost.
func TestOutcomeUnknown(t *testing.T) {
	r := newRig(t)
	b := newBus(r)
	p := r.start()
	minted := newRecord(t)
	minted.add(p.mint(10)...)
	b.meddle(func(cc tpm2.TPMCC, next func() []byte) []byte {
		rsp := next()
		if cc == tpm2.TPMCCNVIncrement {
			return nil
		}
		return rsp
	})
	if _, err := p.client.Renew(t.Context()); err == nil {
		t.Error("it was renewed")
	}
	p.endsWith(exitError, "TPM2_NV_Increment was sent, and whether it took effect is not known")
	b.meddle(nil)
	p = r.start()
	names := p.mint(10)
	minted.add(names...)
	if v := r.value(); names[0].Epoch() != v {
		t.Errorf("%s is not of the epoch %d", names[0], v)
	}
}

// TestAnswerLost has a TPM whose answer to an increment is lost once: the number
// is burned, and the next is taken.
func TestAnswerLost(t *testing.T) {
	r := newRig(t)
	b := newBus(r)
	p := r.start()
	lost := false
	b.meddle(func(cc tpm2.TPMCC, next func() []byte) []byte {
		rsp := next()
		if cc == tpm2.TPMCCNVIncrement && !lost {
			lost = true
			return nil
		}
		return rsp
	})
	id, err := p.client.Renew(t.Context())
	if err != nil || id.Epoch != 4 {
		t.Errorf("%+v, %v, want epoch 4", id, err)
	}
	p.stop()
}
