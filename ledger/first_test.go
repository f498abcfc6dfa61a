package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/opmint/opmint/ledger"
)

func TestFirst(t *testing.T) {
	r := newRig(t)
	me := r.As(7)
	for i := range 50 {
		run(t, me, mint("a", 1, uint64(i)))
	}
	run(t, me, "foreign")
	op := begin(t, me, "big", "h")
	if _, err := me.Finish(t.Context(), op.Ref, op.Hold(), ledger.Applied, &ledger.Result{Status: 200, Body: make([]byte, 1000)}); err != nil {
		t.Fatal(err)
	}
	begin(t, me, "lapses", "h")
	rebuilt(t, r.store)
	r.pass(time.Hour)
	rebuilt(t, r.store)
	r.restart()
	me = r.As(7)
	_, err := me.Begin(t.Context(), ref("lapses"), attempt("x"))
	want(t, "lapsed", err, ledger.ErrOutcomeUnknown)
	got, err := me.Begin(t.Context(), ref("big"), attempt("x"))
	if err != nil || len(got.Result.Body) != 1000 {
		t.Fatal(got, err)
	}
	r.pass(200 * time.Hour)
	rebuilt(t, r.store)
	_, err = me.Begin(t.Context(), ref("foreign"), attempt("x"))
	want(t, "foreign", err, ledger.ErrExpired)
	_, err = me.Begin(t.Context(), ref(mint("a", 1, 3)), attempt("x"))
	want(t, "minted", err, ledger.ErrExpired)
	s, err := me.Scope(t.Context(), "s")
	fmt.Printf("%+v %v\n", s, err)
	st, _ := r.Stats(t.Context())
	fmt.Printf("%+v\n", st)
	ev, err := r.Log(t.Context(), ledger.LogQuery{UID: 7, Limit: 1000})
	var v ledger.Verifier
	for _, e := range ev {
		if err := v.Add(e.Line); err != nil {
			t.Error(err)
		}
	}
	fmt.Println(len(ev), err, string(ev[1].Line), string(ev[len(ev)-1].Line))
}
