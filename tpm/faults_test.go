package tpm

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-tpm/tpm2"
)

// A fault is what happens to one command.
type fault struct {
	name string
	do   func(cmd []byte, next exchange) ([]byte, bool, error)
	lost bool // the answer is lost or garbled, so a new connection may help
	// lie: the answer looks good, as long as it is not authenticated.
	lie bool
	// busy: the command was not executed and can be sent again.
	busy bool
}

// after passes the command on and spoils the answer.
func after(spoil func(rsp []byte) []byte) func([]byte, exchange) ([]byte, bool, error) {
	return func(cmd []byte, next exchange) ([]byte, bool, error) {
		rsp, sent, err := next(cmd)
		if err != nil {
			return nil, sent, err
		}
		return spoil(bytes.Clone(rsp)), true, nil
	}
}

// instead answers without passing the command on.
func instead(rsp []byte, sent bool, err error) func([]byte, exchange) ([]byte, bool, error) {
	return func([]byte, exchange) ([]byte, bool, error) { return rsp, sent, err }
}

// resized sets the size field of an answer to its length.
func resized(rsp []byte) []byte {
	binary.BigEndian.PutUint32(rsp[2:], uint32(len(rsp)))
	return rsp
}

// silent holds an answer back for longer than anybody waits for it.
func silent(effect bool) func([]byte, exchange) ([]byte, bool, error) {
	return func(cmd []byte, next exchange) ([]byte, bool, error) {
		if effect {
			_, _, _ = next(cmd)
		}
		time.Sleep(answerLimit * 3 / 2)
		return nil, true, io.ErrUnexpectedEOF
	}
}

var faults = []fault{
	{name: "error code", do: instead(answer(tpm2.TPMRCFailure), true, nil)},
	{name: "error code after taking effect", do: after(func([]byte) []byte { return answer(tpm2.TPMRCMemory) })},
	{name: "code of a resource manager", do: instead(answer(0x000B0143), true, nil)},
	{name: "not sent", do: instead(nil, false, io.ErrClosedPipe), lost: true},
	{name: "no answer, no effect", do: instead(nil, true, io.EOF), lost: true},
	{name: "no answer after taking effect", do: func(cmd []byte, next exchange) ([]byte, bool, error) {
		_, _, _ = next(cmd)
		return nil, true, io.EOF
	}, lost: true},
	{name: "silence", do: silent(false), lost: true},
	{name: "silence after taking effect", do: silent(true), lost: true},
	{name: "empty answer", do: after(func([]byte) []byte { return nil }), lost: true},
	{name: "garbage", do: after(func(rsp []byte) []byte { return bytes.Repeat([]byte{0xA5}, len(rsp)) }), lost: true},
	{name: "garbage under a good header", do: after(func(rsp []byte) []byte {
		for i := headerSize; i < len(rsp); i++ {
			rsp[i] ^= 0x5A
		}
		return rsp
	}), lost: true, lie: true},
	{name: "one bit wrong", do: after(func(rsp []byte) []byte {
		rsp[len(rsp)-1] ^= 1
		return rsp
	}), lost: true, lie: true},
	{name: "short of a header", do: after(func(rsp []byte) []byte { return rsp[:headerSize-1] }), lost: true},
	{name: "truncated", do: after(func(rsp []byte) []byte { return rsp[:len(rsp)-1] }), lost: true},
	{name: "truncated, size corrected", do: after(func(rsp []byte) []byte {
		return resized(rsp[:len(rsp)-1])
	}), lost: true},
	{name: "success, nothing else", do: instead(answer(tpm2.TPMRCSuccess), true, nil), lost: true},
	{name: "trailing bytes", do: after(func(rsp []byte) []byte { return append(rsp, 1, 2, 3, 4) }), lost: true},
	{name: "too long", do: after(func(rsp []byte) []byte {
		return resized(append(rsp, make([]byte, maxMessage)...))
	}), lost: true},
	{name: "a TPM 1.2", do: instead([]byte{0x00, 0xC4, 0, 0, 0, 10, 0, 0, 0, 30}, true, nil), lost: true},
	{name: "RETRY after taking effect", do: after(func([]byte) []byte { return answer(tpm2.TPMRCRetry) }), busy: true},
	{name: "RETRY", do: instead(answer(tpm2.TPMRCRetry), true, nil), busy: true},
	{name: "NV_RATE", do: instead(answer(tpm2.TPMRCNVRate), true, nil), busy: true},
	{name: "YIELDED", do: instead(answer(tpm2.TPMRCYielded), true, nil), busy: true},
	{name: "TESTING", do: instead(answer(tpm2.TPMRCTesting), true, nil), busy: true},
}

// claimCommands are the commands of a claim that begins with a read.
var claimCommands = []tpm2.TPMCC{
	tpm2.TPMCCNVReadPublic, tpm2.TPMCCStartAuthSession, tpm2.TPMCCNVRead, tpm2.TPMCCNVIncrement, tpm2.TPMCCNVRead,
}

// The authenticated ones, by their position.
const (
	readBefore = 2 + iota
	increment
	readAfter
)

// strike lets the fault hit the command at a position of claimCommands: once
// in all, or on each connection.
func strike(f fault, at int, once bool) hook {
	seen, hit := 0, false
	return func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
		i := slices.Index(claimCommands, cc)
		switch {
		case i < 0 || hit && once:
			return next(cmd)
		case cc == tpm2.TPMCCNVReadPublic:
			seen = 0
		}
		if seen == at {
			// A busy TPM is asked again, so the count stays.
			hit = true
			return f.do(cmd, next)
		}
		seen++
		return next(cmd)
	}
}

// TestFaultsOfAClaim lets each command of a claim fail in each way, once and
// each time, with another daemon's claims around it.
func TestFaultsOfAClaim(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		_, dir := r.counter()
		other := r.twin(dir)
		all := &ledger{t: t}
		for _, f := range faults {
			for at, cc := range claimCommands {
				for _, once := range []bool{true, false} {
					synctest.Test(t, func(t *testing.T) {
						c := r.newCounter(dir) // so that its claim begins with a read
						all.add(r.next(other))
						r.meddle(strike(f, at, once))
						began := time.Now()
						v, err := c.Next(context.Background())
						r.meddle(nil)
						t.Logf("%s in command %d, %s, once %v: %d after %v, %v",
							f.name, at, commands[cc], once, v, time.Since(began), err)
						if limit := shortLimit + answerLimit; time.Since(began) > limit {
							t.Errorf("the claim took longer than %v", limit)
						}
						checkClaim(t, f, at, once, err)
						if err == nil {
							all.add(v)
						}
						all.add(r.next(other))
						all.add(r.next(r.newCounter(dir)))
						time.Sleep(2 * answerLimit) // until a silent exchange has ended
					})
				}
			}
		}
	})
}

// checkClaim tells whether an error is what a fault has to lead to.
func checkClaim(t *testing.T, f fault, at int, once bool, err error) {
	t.Helper()
	if f.lie && at < readBefore {
		return // whatever it led to, no value was owned twice
	}
	if once && (f.lost || f.busy) {
		if err != nil {
			t.Errorf("%s once: %v, want a value", f.name, err)
		}
		return
	}
	if err == nil {
		t.Error("want an error")
		return
	}
	// Of an increment that was not sent, all is known; of one whose value was
	// not read, the value is not.
	unsent := f.name == "not sent"
	unknown := f.lost && (at == readAfter || at == increment && !unsent)
	if errors.Is(err, ErrOutcomeUnknown) != unknown {
		t.Errorf("is ErrOutcomeUnknown: %v, want %v: %v", !unknown, unknown, err)
	}
	if errors.Is(err, ErrBusy) != f.busy {
		t.Errorf("is ErrBusy: %v, want %v: %v", !f.busy, f.busy, err)
	}
	var failed *CommandError
	if errors.As(err, &failed) != f.lost {
		t.Errorf("is a CommandError: %v, want %v: %v", !f.lost, f.lost, err)
	}
}
