package main

import (
	"errors"
	"testing"
	"time"

	"github.com/opmint/opmint/api"
)

// TestRenew renews until the bucket is empty.
func TestRenew(t *testing.T) {
	r := newRig(t)
	p := r.start()
	minted := newRecord(t)
	first := p.mint(10)
	minted.add(first...)
	last := p.identity()
	for range bucketSize {
		next, err := p.client.Renew(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if next.Identity == last.Identity || next.Minter == last.Minter || next.Epoch != last.Epoch+1 {
			t.Errorf("%+v was renewed to %+v", last, next)
		}
		last = next
		names := p.mint(10)
		minted.add(names...)
		if n := names[0]; n.Identity() != next.Identity || n.Epoch() != next.Epoch {
			t.Errorf("%s is not of the new identity %+v", n, next)
		}
	}
	p.cannotRenew(api.ErrOverloaded, bucketInterval)
	if now := p.identity(); now.Identity != last.Identity || now.Epoch != last.Epoch || *now.Counter != last.Epoch {
		t.Errorf("%+v became %+v", last, now)
	}
	minted.add(p.mint(10)...)
	if ready, err := p.client.Ready(t.Context()); err != nil || ready.Warning == "" {
		t.Errorf("with an empty bucket it is %+v, %v", ready, err)
	}
	p.knows(first[0])
	p.stop()
	// The identity lasts, and a new start has a full bucket.
	p = r.start()
	if now := p.identity(); now.Identity != last.Identity {
		t.Errorf("after a restart %+v became %+v", last, now)
	}
	if _, err := p.client.Renew(t.Context()); err != nil {
		t.Error(err)
	}
}

// cannotRenew fails the test unless renewing is refused, with a time to wait.
func (p *process) cannotRenew(want error, wait time.Duration) {
	p.t.Helper()
	_, err := p.client.Renew(p.t.Context())
	problem, ok := errors.AsType[*api.Problem](err)
	if !ok || !errors.Is(err, want) || problem.RetryAfter > wait || problem.RetryAfter < wait-time.Minute {
		p.t.Errorf("renewing: %v, want %v, to be tried again after about %v", err, want, wait)
	}
}

// TestNamesPerEpoch has an operator who wants a write for each name.
func TestNamesPerEpoch(t *testing.T) {
	r := newRig(t)
	p := r.start("--names-per-epoch", "1")
	minted := newRecord(t)
	for epoch := uint64(2); epoch < 40; {
		names := p.mint(16)
		minted.add(names...)
		for _, n := range names {
			if n.Epoch() != epoch || n.Seq() != 0 {
				t.Fatalf("%s has epoch %d and seq %d, want %d and 0", n, n.Epoch(), n.Seq(), epoch)
			}
			epoch++
		}
	}
	used := r.value()
	if _, err := p.tryMint(17); !errors.Is(err, api.ErrBadRequest) {
		t.Errorf("17 names: %v", err)
	}
	if v := r.value(); v != used {
		t.Errorf("a refused request cost %d writes", v-used)
	}
}
