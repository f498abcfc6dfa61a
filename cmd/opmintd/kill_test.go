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
	t.Logf("%d names", len(minted.seen))
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

// TestKilledWhileStarting kills the daemon at each command of its start, before
// and after the TPM has executed it: first where it defines the index, then where
// it finds it. What a start has left behind, the next one goes on from: it takes
// one epoch, and its names are new.
func TestKilledWhileStarting(t *testing.T) {
	first := newRig(t)
	bus := newBus(first)
	minted := newRecord(t)
	for _, finds := range []bool{false, true} {
		var before uint64
		for step, killed := 0, true; killed; step++ {
			r := first.another()
			if finds {
				r.start().kill()
				before = r.value()
			}
			killed = r.killAtStep(bus, step)
			if finds {
				lost := r.value() - before
				if before += lost; lost > 1 {
					t.Errorf("killed at step %d, a start cost %d numbers", step, lost)
				}
			}
			p := r.start()
			names := p.mint(10)
			minted.add(names...)
			if after := r.value(); names[0].Epoch() != after || finds && after != before+1 {
				t.Errorf("after a kill at step %d the counter went from %d to %d, and names are %s", step, before, after, names[0])
			}
			p.kill()
			if err := r.counter().Undefine(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// killAtStep starts a daemon and kills it before or after the TPM has executed a
// command: step 0 is before the first, 1 after it, 2 before the second. It reports
// whether that was before the end of the start.
func (r *rig) killAtStep(b *bus, step int) bool {
	r.t.Helper()
	process := make(chan *process, 1)
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
		(<-process).kill()
		return nil
	})
	defer b.meddle(nil)
	p := launch(r.t, r.args()...)
	process <- p
	started := p.logs("msg=started")
	p.kill()
	return !started
}
