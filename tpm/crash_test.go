package tpm

import (
	"context"
	"io"
	"testing"

	"github.com/google/go-tpm/tpm2"
)

// TestCrashInDefine breaks off a definition at each of its commands, before it
// takes effect and after it. The next start goes on.
func TestCrashInDefine(t *testing.T) {
	var steps []string
	eachTPM(t, func(t *testing.T, r *rig) {
		var rec recorder
		r.meddle(rec.hook)
		r.counter()
		r.meddle(nil)
		r.undefine()
		steps = rec.take()
		all := ledger{t: t}
		for at := range steps {
			for _, effect := range []bool{false, true} {
				dir := t.TempDir()
				crashed := r.newCounter(dir)
				n, dead := -1, false
				r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
					if cc != tpm2.TPMCCGetCapability {
						n++
					}
					if dead || n == at {
						if !dead && effect {
							_, _, _ = next(cmd)
						}
						dead = true
						return nil, true, io.EOF
					}
					return next(cmd)
				})
				if err := crashed.Define(context.Background()); err == nil {
					t.Errorf("define that dies in command %d, %s: no error", at, steps[at])
				}
				r.meddle(nil)
				c := r.newCounter(dir)
				before, err := c.Status(t.Context())
				if err != nil || before.Problem != nil {
					t.Errorf("status after a crash in command %d, %s: %+v, %v", at, steps[at], before, err)
				}
				if err := c.Define(t.Context()); err != nil {
					t.Errorf("define after a crash in command %d, %s: %v", at, steps[at], err)
					continue
				}
				if before.State != Absent && before.Incarnation != c.pinned {
					t.Errorf("the second start found another incarnation than it said")
				}
				all.add(r.next(c))
				r.undefine()
			}
		}
	})
	if len(steps) < 8 {
		t.Errorf("a definition takes only %v: this test shows nothing", steps)
	}
}

// TestDefineHealsItself loses one answer of each command of a definition.
func TestDefineHealsItself(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		for _, effect := range []bool{false, true} {
			for at := 0; ; at++ {
				n := -1
				r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
					if cc != tpm2.TPMCCGetCapability {
						n++
					}
					if n != at || cc == tpm2.TPMCCGetCapability {
						return next(cmd)
					}
					if effect {
						_, _, _ = next(cmd)
					}
					return nil, true, io.EOF
				})
				c, _ := r.counter()
				r.meddle(nil)
				r.next(c)
				r.undefine()
				if n < at {
					break
				}
			}
		}
	})
}
