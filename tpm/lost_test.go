package tpm

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-tpm/tpm2"
)

// TestKilledDuringIncrement loses power in a claim, before the increment took
// effect and after it.
func TestKilledDuringIncrement(t *testing.T) {
	for name, effect := range map[string]bool{"before": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			r := swtpmRig(t)
			c, dir := r.counter()
			all := ledger{t: t}
			all.add(r.next(c))
			for range 5 {
				killed := false
				r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
					if cc != tpm2.TPMCCNVIncrement || killed {
						return next(cmd)
					}
					killed = true
					if effect {
						if rsp, _, err := next(cmd); err != nil || code(rsp) != 0 {
							t.Errorf("the increment that was to take effect: %x %v", rsp, err)
						}
					}
					if err := r.soft.Restart(); err != nil {
						t.Error(err)
					}
					rsp, _, err := next(cmd) // on a dead connection
					return rsp, true, err
				})
				before := all.values[len(all.values)-1]
				all.add(r.next(c))
				want := before + 1
				if effect {
					want++
				}
				if got := all.values[len(all.values)-1]; got != want {
					t.Errorf("claimed %d after %d, want %d", got, before, want)
				}
			}
			all.add(r.next(r.newCounter(dir)))
		})
	}
}

func TestDroppedConnections(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		c, _ := r.counter()
		all := ledger{t: t}
		const drops = 100
		for dropped := 0; dropped < drops; {
			at := dropped / 2 % 4 // both connections of a claim die at the same command
			n := 0
			r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
				rsp, sent, err := next(cmd)
				switch {
				case cc == tpm2.TPMCCGetCapability:
				case n == at:
					n, dropped = 0, dropped+1
					return nil, true, errDropped
				default:
					n++
				}
				return rsp, sent, err
			})
			all.claim(c, errDropped)
		}
		r.meddle(nil)
		all.add(r.next(c))
	})
}

// TestGoodSessionRefused refuses the authorization of a session that the TPM has
// accepted before: index.auth is not lost, something else went wrong.
func TestGoodSessionRefused(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		c, _ := r.counter()
		r.next(c)
		refused, incremented := false, false
		r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
			if cc == tpm2.TPMCCNVRead && incremented && !refused {
				refused, r.dropped = true, true
				return answer(tpm2.TPMRCAuthFail), true, nil
			}
			incremented = cc == tpm2.TPMCCNVIncrement
			return next(cmd)
		})
		r.next(c)
		if !refused {
			t.Error("nothing was refused: this test shows nothing")
		}
	})
}

// TestSavedSessions has other clients save sessions until no handle is left.
func TestSavedSessions(t *testing.T) {
	for name, makeRig := range map[string]func(*testing.T) *rig{
		"swtpm":     swtpmRig,
		"reference": func(t *testing.T) *rig { return referenceRig(t) },
	} {
		t.Run(name, func(t *testing.T) {
			r := makeRig(t)
			c, _ := r.counter()
			r.raw(func(l *link) {
				for range maxHandles {
					s, err := startSession(l, nil, nil)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := run(l, tpm2.ContextSave{SaveHandle: s.handle}); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := startSession(l, nil, nil); !errors.Is(err, tpm2.TPMRCSessionHandles) {
					t.Errorf("a session more than there are handles: %v: this test shows nothing", err)
				}
			})
			r.next(c)
		})
	}
}

// TestLookedAgain loses the first increment of a new index and has the TPM too
// busy on the second connection, before it has shown the index and after.
func TestLookedAgain(t *testing.T) {
	for _, test := range []struct {
		name    string
		refuses tpm2.TPMCC
		rc      tpm2.TPMRC
		busy    bool
		unknown bool
	}{
		{"busy before", tpm2.TPMCCNVReadPublic, tpm2.TPMRCRetry, true, true},
		{"busy after", tpm2.TPMCCStartAuthSession, tpm2.TPMRCRetry, true, false},
		{"cannot write", tpm2.TPMCCStartAuthSession, tpm2.TPMRCNVUnavailable, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := sharedRig(t)
			synctest.Test(t, func(t *testing.T) {
				lost := false
				r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
					switch {
					case cc == tpm2.TPMCCNVIncrement && !lost:
						lost = true
						return nil, true, errDropped
					case lost && cc == test.refuses:
						return answer(test.rc), true, nil
					}
					return next(cmd)
				})
				err := r.newCounter(t.TempDir()).Define(t.Context())
				if errors.Is(err, ErrBusy) != test.busy || errors.Is(err, ErrOutcomeUnknown) != test.unknown ||
					!errors.Is(err, test.rc) || !strings.Contains(err.Error(), "TPM2_NV_Increment was sent") {
					t.Error(err)
				}
			})
		})
	}
}

var errDropped = errors.New("connection dropped")

// TestLeftovers fills a TPM on a socket with what other clients left behind.
func TestLeftovers(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		c, _ := r.counter()
		for range 100 {
			r.raw(func(l *link) {
				// Fails once the TPM is full, where nobody cleans up.
				_, _ = startSession(l, nil, nil)
				_, _ = loadEK(l, EKOptions{Template: TemplateECC})
			})
		}
		r.next(c)
	})
}
