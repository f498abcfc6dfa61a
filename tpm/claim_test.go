package tpm

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-tpm/tpm2"
)

// TestFewestCommands holds the package comment's table to what is sent.
func TestFewestCommands(t *testing.T) {
	const (
		public, start = "TPM2_NV_ReadPublic", "TPM2_StartAuthSession"
		read, inc     = "TPM2_NV_Read", "TPM2_NV_Increment"
	)
	eachTPM(t, func(t *testing.T, r *rig) {
		_, dir := r.counter()
		c := r.newCounter(dir)
		var rec recorder
		r.meddle(rec.hook)
		expect := func(what string, want ...string) {
			t.Helper()
			if got := rec.take(); !slices.Equal(got, want) {
				t.Errorf("%s:\n got %v\nwant %v", what, got, want)
			}
		}
		r.next(c)
		expect("first claim", public, start, read, inc, read)
		r.next(c)
		expect("later claim", public, start, inc, read)
		r.next(r.newCounter(dir))
		rec.take()
		r.next(c)
		expect("claim after somebody else's", public, start, inc, read, start, read, inc, read)
		r.next(r.newCounter(dir))
		rec.take()
		r.next(c)
		expect("claim where others are known", public, start, read, inc, read)
		for range sharedFor {
			rec.take()
			r.next(c)
		}
		expect("the last claim that suspects others", public, start, read, inc, read)
		r.next(c)
		expect("later claim, alone again", public, start, inc, read)
		lost := false
		r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
			rsp, sent, err := rec.hook(cc, cmd, next)
			if cc == tpm2.TPMCCNVIncrement && !lost {
				lost = true
				return nil, true, errDropped
			}
			return rsp, sent, err
		})
		r.next(c)
		rec.take()
		r.next(c)
		expect("claim after one that lost its own increment", public, start, inc, read)
		if _, err := c.Read(t.Context()); err != nil {
			t.Error(err)
		}
		expect("Read", public, start, read)
		if err := c.Define(t.Context()); err != nil {
			t.Error(err)
		}
		expect("Define of what is there", public, start, read)
		if rec.saw(c.auth) {
			t.Error("the authorization value was sent in the clear")
		}
	})
}

// TestTwoDaemons lets two claimers with one index and auth value run at once,
// while a third hand increments between their claims.
func TestTwoDaemons(t *testing.T) {
	const claims = 40
	eachTPM(t, func(t *testing.T, r *rig) {
		a, dir := r.counter()
		all := ledger{t: t}
		var wg sync.WaitGroup
		for _, c := range []*Counter{a, r.twin(dir)} {
			wg.Go(func() {
				for range claims {
					all.claim(c, ErrBusy)
				}
			})
		}
		wg.Wait()
		if len(all.values) < claims {
			t.Errorf("%d claims of %d succeeded", len(all.values), 2*claims)
		}
	})
}

// TestTwoDaemonsInStep has two daemons claim without a break on a TPM that takes
// its time for each command. What counts is the increments, which wear it out.
func TestTwoDaemonsInStep(t *testing.T) {
	const claims = 50
	r := sharedRig(t)
	synctest.Test(t, func(t *testing.T) {
		a, dir := r.counter()
		all := ledger{t: t}
		b := r.twin(dir)
		var increments atomic.Int32
		turn := make(chan struct{}, 1)
		r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
			turn <- struct{}{}
			defer func() { <-turn }()
			time.Sleep(10 * time.Millisecond)
			if cc == tpm2.TPMCCNVIncrement {
				increments.Add(1)
			}
			return next(cmd)
		})
		var wg sync.WaitGroup
		for _, c := range []*Counter{a, b} {
			wg.Go(func() {
				for n := 0; n < claims && increments.Load() <= 5*claims; {
					v, err := c.Next(t.Context())
					if err == nil {
						all.add(v)
						n++
					} else if !errors.Is(err, ErrBusy) {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		t.Logf("%d increments for %d values", increments.Load(), len(all.values))
		if n := increments.Load(); n > 5*claims {
			t.Errorf("%d increments for %d values", n, 2*claims)
		}
		r.meddle(nil)
	})
}

// TestTwoDaemonsInTurn has another hand increment between the claims.
func TestTwoDaemonsInTurn(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		a, dir := r.counter()
		b := r.twin(dir)
		all := ledger{t: t}
		for range 5 {
			all.add(r.next(a))
			r.raw(func(l *link) {
				otherHand(t, dir, func(cmd []byte) ([]byte, bool, error) {
					return l.wire.exchange(cmd, time.Now().Add(answerLimit))
				})
			})
			all.add(r.next(b))
		}
		before, err := a.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all.add(r.next(a))
		all.add(r.next(b))
		if after, err := a.Read(t.Context()); err != nil || after != before+2 {
			t.Errorf("two claims of daemons that know of each other took the counter from %d to %d (%v)", before, after, err)
		}
	})
}

func TestFirstIncrementIsNotOwned(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		var rec recorder
		r.meddle(rec.hook)
		c, _ := r.counter()
		increments := func() (n int) {
			for _, name := range rec.take() {
				if name == "TPM2_NV_Increment" {
					n++
				}
			}
			return n
		}
		if n := increments(); n != 1 {
			t.Errorf("Define took %d increments, want 1", n)
		}
		first, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if v := r.next(c); v != first+1 {
			t.Errorf("first claim %d, want %d", v, first+1)
		}
		if n := increments(); n != 1 {
			t.Errorf("the claim took %d increments, want 1", n)
		}
	})
}

func TestAuthValuesWithZeros(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		for _, auth := range [][]byte{
			append([]byte{1, 0, 2}, make([]byte, 29)...), // cut by the TPM
			append(make([]byte, 31), 1),
			binary.BigEndian.AppendUint64(append([]byte("........"), make([]byte, 16)...), 1),
			make([]byte, 32),
		} {
			dir := t.TempDir()
			writeFile(t, dir, authFile, auth)
			c := r.newCounter(dir)
			if err := c.Define(t.Context()); err != nil {
				t.Errorf("define with the value %x: %v", auth, err)
				continue
			}
			r.next(c)
			r.undefine()
		}
	})
}
