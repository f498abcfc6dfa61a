package main

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-tpm/tpm2"

	"github.com/opmint/opmint/api"
)

// TestKilledWhileMinting kills the daemon at random moments, 100 times: no name
// repeats, and each start costs the TPM one write and one epoch.
func TestKilledWhileMinting(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	minted := newRecord(t)
	// In a new TPM the first start defines the index: a write that is nobody's
	// number, and its own.
	want := uint64(2)
	for range 100 {
		p := r.start()
		if v := r.value(); v != want {
			t.Fatalf("the counter is at %d, want %d", v, want)
		}
		names, err := parse(p.mintUntilKilled(8, rand.Int64N(2000)))
		if err != nil {
			t.Fatal(err)
		}
		minted.add(names...)
		for _, n := range names {
			if n.Epoch() != want {
				t.Fatalf("%s is of epoch %d, want %d", n, n.Epoch(), want)
			}
		}
		want++
	}
}

// mintUntilKilled mints with several clients and kills the daemon as soon as they
// have so many names. It returns all that they have, also those of answers that
// broke off.
func (p *process) mintUntilKilled(clients int, enough int64) []string {
	var total atomic.Int64
	var mu sync.Mutex
	var all []string
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			var got bytes.Buffer
			var err error
			for err == nil {
				before := got.Len()
				err = p.client.MintTo(context.Background(), &got, api.MintRequest{Count: 1 + rand.IntN(32)})
				names := int64(bytes.Count(got.Bytes()[before:], []byte("\n")))
				if total.Add(names) >= enough {
					_ = p.cmd.Process.Kill() // by one or all of them
				}
			}
			if _, refused := errors.AsType[*api.Problem](err); refused {
				p.t.Error(err)
			}
			lines := strings.SplitAfter(got.String(), "\n")
			mu.Lock()
			defer mu.Unlock()
			for _, line := range lines[:len(lines)-1] {
				all = append(all, strings.TrimSuffix(line, "\n"))
			}
		})
	}
	wait.Wait()
	p.kill()
	return all
}

// TestKilledWhileDefining kills the daemon at each command of a start that defines
// the index. What it has left behind, the next start goes on from.
func TestKilledWhileDefining(t *testing.T) {
	t.Parallel()
	first := newRig(t)
	bus := newBus(first)
	minted := newRecord(t)
	for step, killed := 0, true; killed; step++ {
		r := first.another()
		killed = r.killAtStep(bus, step)
		p := r.start()
		names := p.mint(10)
		minted.add(names...)
		if v := r.value(); names[0].Epoch() != v {
			t.Errorf("after a kill at step %d: %s, and the counter is at %d", step, names[0], v)
		}
		p.kill()
		must(t, r.counter().Undefine(t.Context()))
	}
}

// TestKilledWhileStarting kills the daemon at each command of a start that finds
// the index: it has cost one number at most, and so has the next start.
func TestKilledWhileStarting(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bus := newBus(r)
	minted := newRecord(t)
	r.start().kill()
	for step, killed := 0, true; killed; step++ {
		before := r.value()
		killed = r.killAtStep(bus, step)
		between := r.value()
		p := r.start()
		names := p.mint(10)
		minted.add(names...)
		if after := r.value(); between > before+1 || after != between+1 || names[0].Epoch() != after {
			t.Errorf("with a kill at step %d the counter went from %d to %d, and then to %d; %s",
				step, before, between, after, names[0])
		}
		p.kill()
	}
}

// TestKilledWhileRenewing kills the daemon at each command of a renewal: the next
// start has the identity of before, or another one, under another epoch.
func TestKilledWhileRenewing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bus := newBus(r)
	minted := newRecord(t)
	for step, killed := 0, true; killed; step++ {
		p := r.start()
		minted.add(p.mint(10)...)
		before := p.identity()
		bus.killAt(step, p)
		renewed, err := p.client.Renew(t.Context())
		killed = err != nil
		bus.meddle(nil)
		p.kill()
		p = r.start()
		minted.add(p.mint(10)...)
		after := p.identity()
		if after.Epoch <= before.Epoch || after.Epoch > before.Epoch+2 || !killed && after.Identity != renewed.Identity {
			t.Errorf("after a kill at step %d %+v became %+v", step, before, after)
		}
		p.kill()
	}
}

// killAtStep starts a daemon that is killed at a step, and reports whether that was
// before the end of its start.
func (r *rig) killAtStep(b *bus, step int) bool {
	r.t.Helper()
	p := newProcess(r.t, r.args()...)
	b.killAt(step, p)
	defer b.meddle(nil)
	p.launch()
	started := p.logs("started")
	p.kill()
	return !started
}

// killAt kills a process before or after the TPM has executed a command: step 0 is
// before the first from now on, 1 after it, 2 before the second. Commands that only
// ask what the TPM has do not count.
func (b *bus) killAt(step int, p *process) {
	commands := 0
	b.meddle(func(cc tpm2.TPMCC, next func() []byte) []byte {
		if cc == tpm2.TPMCCGetCapability {
			return next()
		}
		commands++
		if commands != step/2+1 {
			return next()
		}
		if step%2 == 1 {
			next()
		}
		p.kill()
		return nil
	})
}
