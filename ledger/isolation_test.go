package ledger_test

import (
	"bytes"
	"testing"

	"github.com/opmint/opmint/ledger"
)

// TestNobodyLearnsOfAnother: what one user does in a private scope no other sees, in
// answers, counts and the log; and who takes a name of another's takes it for himself.
func TestNobodyLearnsOfAnother(t *testing.T) {
	r := newRig(t)
	alice, bob := r.As(1000), r.As(1001)
	secret := ledger.Ref{Scope: "pay", Name: mint("alice", 1, 1)}
	op, err := alice.Begin(t.Context(), secret, attempt("h"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = alice.Finish(t.Context(), secret, op.Hold(), ledger.Applied, &ledger.Result{Body: []byte("alice's")}); err != nil {
		t.Fatal(err)
	}
	_, err = bob.Lookup(t.Context(), secret)
	want(t, "Lookup", err, ledger.ErrNotFound)
	_, err = bob.Finish(t.Context(), secret, op.Hold(), ledger.Failed, nil)
	want(t, "Finish", err, ledger.ErrNotFound)
	_, err = bob.Settle(t.Context(), secret, ledger.Failed, nil)
	want(t, "Settle", err, ledger.ErrNotFound)
	if page, err := bob.List(t.Context(), "pay", ledger.ListOptions{}); err != nil || len(page.Operations) > 0 {
		t.Errorf("List = %+v, %v", page, err)
	}
	if s, err := bob.Scope(t.Context(), "pay"); err != nil || s.Counts != (ledger.Counts{}) || s.Horizon != ledger.DefaultHorizon {
		t.Errorf("Scope = %+v, %v", s, err)
	}
	next := ledger.Ref{Scope: "pay", Name: mint("alice", 1, 2)}
	for _, guessed := range []ledger.Ref{secret, next} {
		a := attempt("bob")
		a.Fingerprint = print("bob's")
		if op, err := bob.Begin(t.Context(), guessed, a); err != nil || op.State != ledger.Running || op.UID != 1001 {
			t.Errorf("bob begins %s: %+v, %v", guessed.Name, op, err)
		}
	}
	if op, err := alice.Begin(t.Context(), next, attempt("h")); err != nil || op.State != ledger.Running {
		t.Errorf("alice begins what bob has guessed: %+v, %v", op, err)
	}
	for uid, other := range map[uint32]string{1000: "bob", 1001: "alice"} {
		for _, e := range readLog(t, r.Keeper, ledger.LogQuery{UID: uid}) {
			if bytes.Contains(e.Line, []byte(`"uid":1000`)) == (uid == 1001) || bytes.Contains(e.Line, []byte(`"holder":"`+other)) {
				t.Errorf("the log of uid %d has %s", uid, e.Line)
			}
		}
	}
}

// TestSharedScopes are one namespace for all who use them, and whose log all read.
func TestSharedScopes(t *testing.T) {
	r := newRig(t)
	shared := ledger.Ref{Scope: "shared.pay", Name: "x"}
	op, err := r.As(1000).Begin(t.Context(), shared, attempt("h"))
	if err != nil || op.UID != 1000 {
		t.Fatal(op, err)
	}
	_, err = r.As(1001).Begin(t.Context(), shared, attempt("other"))
	want(t, "Begin", err, ledger.ErrInProgress)
	if _, err = r.As(1001).Finish(t.Context(), shared, op.Hold(), ledger.Applied, nil); err != nil {
		t.Error(err)
	}
	if op, err := r.As(1000).Lookup(t.Context(), shared); err != nil || op.State != ledger.Applied || op.UID != 1000 {
		t.Errorf("%+v, %v", op, err)
	}
	if _, err := r.As(1000).Lookup(t.Context(), ledger.Ref{Scope: "sharedpay", Name: "x"}); err == nil {
		t.Error("sharedpay is shared")
	}
	events := readLog(t, r.Keeper, ledger.LogQuery{UID: 5})
	if len(events) != 3 || !bytes.Contains(events[2].Line, []byte(`"what":"finished","uid":1001`)) {
		t.Errorf("%+v", events)
	}
}

// TestNobody: there is no user with the uid that stands for none.
func TestNobody(t *testing.T) {
	r := newRig(t)
	_, err := r.As(1<<32-1).Begin(t.Context(), ref("x"), attempt("h"))
	want(t, "Begin", err, ledger.ErrInvalid)
}
