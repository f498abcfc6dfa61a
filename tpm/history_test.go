package tpm

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-tpm/tpm2"
)

func TestClear(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		c, _ := r.counter()
		all := ledger{t: t}
		all.add(r.next(c))
		ek, err := r.dev.EndorsementKey(t.Context(), EKOptions{})
		if err != nil {
			t.Fatal(err)
		}
		old, err := c.Incarnation(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		must(r, tpm2.Clear{AuthHandle: tpm2.TPMRHLockout})
		if _, err := c.Next(t.Context()); !errors.Is(err, ErrNotDefined) {
			t.Errorf("claim after TPM2_Clear: %v, want ErrNotDefined", err)
		}
		if err := c.Define(t.Context()); err != nil {
			t.Fatal(err)
		}
		if now, err := c.Incarnation(t.Context()); err != nil || now == old {
			t.Errorf("incarnation %x after TPM2_Clear, %x before (%v)", now, old, err)
		}
		all.add(r.next(c))
		if now, err := r.dev.EndorsementKey(t.Context(), EKOptions{}); err != nil || now.Fingerprint != ek.Fingerprint {
			t.Errorf("the endorsement key did not survive TPM2_Clear (%v)", err)
		}
	})
}

func TestRedefinedBetweenClaims(t *testing.T) {
	eachTPM(t, func(t *testing.T, r *rig) {
		c, dir := r.counter()
		all := ledger{t: t}
		all.add(r.next(c))
		other := r.twin(dir)
		if err := other.Undefine(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Next(t.Context()); !errors.Is(err, ErrNotDefined) {
			t.Errorf("claim on a deleted index: %v, want ErrNotDefined", err)
		}
		if err := other.Define(t.Context()); err != nil {
			t.Fatal(err)
		}
		for what, use := range map[string]func(context.Context) (uint64, error){"claim": c.Next, "read": c.Read} {
			if _, err := use(t.Context()); !errors.Is(err, ErrRedefined) {
				t.Errorf("%s after the index was defined anew: %v, want ErrRedefined", what, err)
			}
		}
		all.add(r.next(other))
		if err := c.Define(t.Context()); err != nil {
			t.Fatal(err)
		}
		all.add(r.next(c))
		mine, err := c.Incarnation(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if theirs, err := other.Incarnation(t.Context()); err != nil || theirs != mine {
			t.Errorf("two daemons on one index have the incarnations %x and %x (%v)", mine, theirs, err)
		}
	})
}

// undefine deletes whatever stands at the index, behind everybody's back.
func (r *rig) undefine() {
	r.t.Helper()
	name := must(r, tpm2.NVReadPublic{NVIndex: tpm2.TPMHandle(DefaultIndex)}).NVName
	must(r, tpm2.NVUndefineSpace{AuthHandle: tpm2.TPMRHOwner, NVIndex: tpm2.NamedHandle{Handle: DefaultIndex, Name: name}})
}

// TestRollback puts an old state of the TPM back between two claims, which takes
// back one claim or several.
func TestRollback(t *testing.T) {
	for taken := range 3 {
		r := swtpmRig(t)
		c, dir := r.counter()
		snapshot := t.TempDir()
		if err := r.soft.Snapshot(snapshot); err != nil {
			t.Fatal(err)
		}
		var last uint64
		for range taken + 1 {
			last = r.next(c)
		}
		if err := r.soft.Rewind(snapshot); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			_, err := c.Next(t.Context())
			var back *WentBackError
			if !errors.Is(err, ErrWentBack) || !errors.As(err, &back) || back.Before != last || back.Seen > last {
				t.Fatalf("claim after a rollback of %d: %v", taken+1, err)
			}
		}
		if _, err := c.Read(t.Context()); !errors.Is(err, ErrWentBack) {
			t.Errorf("read after a rollback: %v", err)
		}
		if err := c.Define(t.Context()); !errors.Is(err, ErrWentBack) {
			t.Errorf("define after a rollback: %v", err)
		}
		// The caller has taken note, and its new Counter knows nothing of it.
		r.next(r.newCounter(dir))
	}
}

// TestRollbackSeenByRead reads the lower value before it is claimed.
func TestRollbackSeenByRead(t *testing.T) {
	r := swtpmRig(t)
	c, _ := r.counter()
	snapshot := t.TempDir()
	if err := r.soft.Snapshot(snapshot); err != nil {
		t.Fatal(err)
	}
	r.next(c)
	if err := r.soft.Rewind(snapshot); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(t.Context()); !errors.Is(err, ErrWentBack) {
		t.Errorf("read after a rollback: %v", err)
	}
	if v, err := c.Next(t.Context()); !errors.Is(err, ErrWentBack) {
		t.Errorf("claim after a rollback that was read: %d, %v", v, err)
	}
}
