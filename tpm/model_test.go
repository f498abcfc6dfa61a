package tpm

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/google/go-tpm/tpm2"
	"pgregory.net/rapid"
)

// What can happen around one command of a claim.
const (
	nothing = iota
	lostBefore
	lostAfter
	refusedBefore
	refusedAfter
	busyOnce
	otherBefore
	otherAfter
	otherAfterAndLost
	happenings
)

// mishaps is a hook that lets one thing of a plan happen around each command of
// a claim. Another hand, where it has a turn, owns what it reads.
func mishaps(t testing.TB, plan []int, dir string, owned func(uint64)) hook {
	return func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
		happens := nothing
		if len(plan) > 0 && cc != tpm2.TPMCCGetCapability && cc != tpm2.TPMCCFlushContext {
			happens, plan = plan[0], plan[1:]
		}
		switch happens {
		case lostBefore:
			return nil, true, io.EOF
		case lostAfter:
			_, _, _ = next(cmd)
			return nil, true, io.EOF
		case refusedBefore:
			return answer(tpm2.TPMRCMemory), true, nil
		case refusedAfter:
			_, _, _ = next(cmd)
			return answer(tpm2.TPMRCMemory), true, nil
		case busyOnce:
			return answer(tpm2.TPMRCRetry), true, nil
		case otherBefore:
			owned(otherHand(t, dir, next))
		case otherAfter:
			rsp, sent, err := next(cmd)
			owned(otherHand(t, dir, next))
			return rsp, sent, err
		case otherAfterAndLost:
			_, _, _ = next(cmd)
			owned(otherHand(t, dir, next))
			return nil, true, io.EOF
		}
		return next(cmd)
	}
}

// TestClaimModel runs claims of three daemons, one after another, while things
// happen around their commands and to the index. No value is owned twice, not
// even by the other hand, which owns what it may: its two commands are never
// interrupted.
func TestClaimModel(t *testing.T) {
	r := sharedRig(t)
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			a, dir := r.counter()
			daemons := []*Counter{a, r.twin(dir), r.newCounter(dir)}
			all := &ledger{t: t}
			for range rapid.IntRange(1, 12).Draw(rt, "claims") {
				c := daemons[rapid.IntRange(0, len(daemons)-1).Draw(rt, "daemon")]
				if rapid.IntRange(0, 9).Draw(rt, "anew") == 0 {
					redefine(t, r, dir)
				}
				plan := rapid.SliceOfN(rapid.IntRange(0, happenings-1), 0, 12).Draw(rt, "plan")
				r.meddle(mishaps(t, plan, dir, all.add))
				v, err := c.Next(context.Background())
				r.meddle(nil)
				switch {
				case err == nil:
					all.add(v)
				case errors.Is(err, ErrRedefined):
					if err := c.Define(context.Background()); err != nil {
						rt.Fatal(err)
					}
				case len(plan) == 0:
					rt.Fatalf("claim without mishap: %v", err)
				}
			}
			r.undefine()
		})
	})
}

// redefine deletes and defines the index behind the back of the others.
func redefine(t *testing.T, r *rig, dir string) {
	t.Helper()
	if err := r.newCounter(dir).Undefine(context.Background()); err != nil {
		t.Fatal(err)
	}
	// The authorization value stays: the other hand has that of dir.
	if err := r.newCounter(dir).Define(context.Background()); err != nil {
		t.Fatal(err)
	}
}
