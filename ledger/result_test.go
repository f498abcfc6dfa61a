package ledger_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/opmint/opmint/ledger"
)

// TestResultsComeBack: what Finish was given is what Begin answers, byte for byte, now
// and after a restart.
func TestResultsComeBack(t *testing.T) {
	r := newRig(t)
	results := []*ledger.Result{
		nil,
		{},
		{Status: 200, Body: []byte("ok")},
		{Status: 503, Headers: map[string][]string{
			"Set-Cookie": {"a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "b=2"}, "Content-Disposition": {`x; filename="a,b"`}, "Empty": {""},
		}, Body: []byte("a\x00\xff\n")},
		{Body: bytes.Repeat([]byte("x"), 511)},
		{Body: bytes.Repeat([]byte("x"), 513)},
		{Status: 200, Body: bytes.Repeat([]byte("x"), ledger.MaxBody)},
		{Status: 200, BodyOmitted: true},
	}
	for i, result := range results {
		op := begin(t, r.As(1), fmt.Sprint(i), "h")
		if _, err := r.As(1).Finish(t.Context(), op.Ref, op.Hold(), ledger.Applied, result); err != nil {
			t.Errorf("result %d: %v", i, err)
		}
	}
	for range 2 {
		for i, result := range results {
			op, err := r.As(1).Begin(t.Context(), ref(fmt.Sprint(i)), attempt("x"))
			if err != nil || !reflect.DeepEqual(op.Result, result) {
				t.Errorf("result %d: %.300v, %v, want %.300v", i, op.Result, err, result)
			}
			if looked, err := r.As(1).Lookup(t.Context(), op.Ref); err != nil || !reflect.DeepEqual(looked, op) {
				t.Errorf("result %d: Lookup has %.300v, %v", i, looked, err)
			}
		}
		r.restart()
	}
	rebuilt(t, r.store)
}

// TestOversize: a body that is too large is not kept, and the operation is done all the
// same; to finish it with another body is another result.
func TestOversize(t *testing.T) {
	r := newRig(t)
	op := begin(t, r.As(1), "x", "h")
	large := &ledger.Result{Status: 201, Headers: map[string][]string{"A": {"b"}}, Body: make([]byte, ledger.MaxBody+1)}
	for range 2 {
		if _, err := r.As(1).Finish(t.Context(), op.Ref, op.Hold(), ledger.Applied, large); err != nil {
			t.Fatal(err)
		}
	}
	other := *large
	other.Body = bytes.Clone(large.Body)
	other.Body[7] = 1
	_, err := r.As(1).Finish(t.Context(), op.Ref, op.Hold(), ledger.Applied, &other)
	want(t, "another body", err, ledger.ErrFenced)
	got, err := r.As(1).Begin(t.Context(), op.Ref, attempt("x"))
	wanted := &ledger.Result{Status: 201, Headers: large.Headers, BodyOmitted: true}
	if err != nil || !got.Replayed || !reflect.DeepEqual(got.Result, wanted) {
		t.Errorf("%+v, %v", got, err)
	}
	rebuilt(t, r.store)
}

// TestSettleKeepsTheResult unless it has one of its own.
func TestSettleKeepsTheResult(t *testing.T) {
	for _, body := range []string{"small", strings.Repeat("large", 1000)} {
		r := newRig(t)
		for name, settled := range map[string]*ledger.Result{"keeps": nil, "replaces": {Status: 418}} {
			op := begin(t, r.As(1), name, "h")
			first := &ledger.Result{Status: 500, Body: []byte(body)}
			if _, err := r.As(1).Finish(t.Context(), op.Ref, op.Hold(), ledger.Unknown, first); err != nil {
				t.Fatal(err)
			}
			if _, err := r.As(1).Settle(t.Context(), op.Ref, ledger.Failed, settled); err != nil {
				t.Fatal(err)
			}
			if settled == nil {
				settled = first
			}
			if got, err := r.As(1).Lookup(t.Context(), op.Ref); err != nil || !reflect.DeepEqual(got.Result, settled) {
				t.Errorf("%s: %.300v, %v", name, got, err)
			}
		}
		rebuilt(t, r.store)
	}
}

func TestInvalidArguments(t *testing.T) {
	r := newRig(t)
	me, ctx := r.As(1), t.Context()
	begun := begin(t, me, "x", "h")
	before := r.store.Commits()
	attempts := map[string]ledger.Attempt{
		"no holder": {}, "long holder": {Holder: strings.Repeat("h", 129)}, "holder not UTF-8": {Holder: "\xff"},
		"short lease": {Holder: "h", Lease: 1}, "long lease": {Holder: "h", Lease: ledger.MaxLease + 1},
		"negative lease": {Holder: "h", Lease: -1}, "orphan": {Holder: "h", Orphan: "keep"},
	}
	for what, a := range attempts {
		_, err := me.Begin(ctx, ref("y"), a)
		want(t, what, err, ledger.ErrInvalid)
	}
	for what, r := range map[string]ledger.Ref{
		"no scope": {Name: "x"}, "long scope": {Scope: strings.Repeat("s", 129), Name: "x"}, "no name": {Scope: "s"},
		"scope not UTF-8": {Scope: "\xff", Name: "x"}, "a damaged name": {Scope: "s", Name: "h1-x"},
	} {
		_, err := me.Begin(ctx, r, attempt("h"))
		want(t, what, err, ledger.ErrInvalid)
		_, err = me.Lookup(ctx, r)
		want(t, what, err, ledger.ErrInvalid)
		_, err = me.Settle(ctx, r, ledger.Applied, nil)
		want(t, what, err, ledger.ErrInvalid)
	}
	for what, result := range map[string]*ledger.Result{
		"status": {Status: 1000}, "negative status": {Status: -1}, "omitted and there": {BodyOmitted: true, Body: []byte("x")},
		"headers":          {Headers: map[string][]string{"A": {strings.Repeat("x", ledger.MaxHeaders)}}},
		"header not UTF-8": {Headers: map[string][]string{"A": {"\xff"}}},
	} {
		_, err := me.Finish(ctx, begun.Ref, begun.Hold(), ledger.Applied, result)
		want(t, what, err, ledger.ErrInvalid)
	}
	_, err := me.Finish(ctx, begun.Ref, begun.Hold(), ledger.Running, nil)
	want(t, "outcome", err, ledger.ErrInvalid)
	_, err = me.Settle(ctx, begun.Ref, ledger.Unknown, nil)
	want(t, "settled as unknown", err, ledger.ErrInvalid)
	_, err = me.Absorb(ctx, "s", make([]ledger.Item, ledger.MaxAbsorb+1))
	want(t, "too many", err, ledger.ErrInvalid)
	_, err = me.Absorb(ctx, "s", []ledger.Item{{Name: "fine"}, {Name: "h1-x"}})
	want(t, "one of two is no name", err, ledger.ErrInvalid)
	for _, o := range []ledger.ListOptions{{State: "ended"}, {Limit: -1}, {Limit: ledger.MaxList + 1}, {After: strings.Repeat("x", 256)}} {
		_, err = me.List(ctx, "s", o)
		want(t, fmt.Sprintf("list %.50v", o), err, ledger.ErrInvalid)
	}
	for _, horizon := range []time.Duration{-1, 0, 1, ledger.MaxHorizon + 1} {
		_, err = me.SetHorizon(ctx, "s", horizon)
		want(t, "horizon", err, ledger.ErrInvalid)
	}
	if n := r.store.Commits(); n != before {
		t.Errorf("%d writes", n-before)
	}
}
