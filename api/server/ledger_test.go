package server

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/ledger"
	"github.com/opmint/opmint/store"
)

// clock is the clock of a daemon in small. Its wall clock shows what the other does.
type clock struct{ *source }

func (c clock) Boot() time.Duration { return time.Duration(c.boot.Load()) }

func (c clock) Wall() time.Time { return time.Unix(1_900_000_000, 0).Add(c.Boot()) }

// newLedger returns the ledger of a daemon in small.
func newLedger(t testing.TB, src *source, s store.Store) *ledger.Keeper {
	t.Helper()
	k, err := ledger.Open(t.Context(), s, ledger.Config{Clock: clock{src}, Horizon: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// keeps lets a server's ledger know operations of the scope pay: one that is gone, and
// others in all states, with tests' holder h and fence 1.
func (src *source) keeps(t testing.TB, s *Server) {
	t.Helper()
	begin, end := `{"holder":"h","lease":"1m"}`, `{"holder":"h","fence":1,"outcome":"applied","result":{"status":201,"body":"ok"}}`
	for _, sent := range []soundRequest{
		{"PUT", "", "/v1/operations/pay/gone", "", begin},
		{"POST", "", "/v1/operations/pay/gone/finish", "", end},
		{"PUT", "", "/v1/operations/pay/lapsed", "", begin},
		{},
		{"PUT", "", "/v1/operations/pay/held", "", begin},
		{"PUT", "", "/v1/operations/pay/applied", "", `{"holder":"h","fingerprint":"` + testFingerprint + `"}`},
		{"POST", "", "/v1/operations/pay/applied/finish", "", end},
	} {
		if sent == (soundRequest{}) {
			src.boot.Add(int64(2 * time.Hour))
			continue
		}
		if answer := s.serve(sent.request()); answer.StatusCode/100 != 2 {
			t.Fatalf("%+v: %s", sent, answer.Status)
		}
	}
}

// TestErrorsAcrossTheSocket: what the ledger refuses is the same in the client, with
// what it says besides.
func TestErrorsAcrossTheSocket(t *testing.T) {
	d := startServer(t, 0)
	d.source.keeps(t, d.server)
	client, inside, ctx := &api.Client{Socket: d.socket}, d.source.keeper.As(0), t.Context()
	ref := func(name string) ledger.Ref { return ledger.Ref{Scope: "pay", Name: name} }
	hold := ledger.Hold{Holder: "h", Fence: 1}
	for what, c := range map[string]struct {
		ask  func(l ledger.Ledger) error
		want []error
	}{
		"held": {func(l ledger.Ledger) error {
			_, err := l.Begin(ctx, ref("held"), ledger.Attempt{Holder: "i"})
			return err
		}, []error{ledger.ErrInProgress}},
		"lapsed": {func(l ledger.Ledger) error {
			_, err := l.Begin(ctx, ref("lapsed"), ledger.Attempt{Holder: "h"})
			return err
		}, []error{ledger.ErrOutcomeUnknown}},
		"mismatch": {func(l ledger.Ledger) error {
			_, err := l.Begin(ctx, ref("applied"), ledger.Attempt{Holder: "h"})
			return err
		}, []error{ledger.ErrMismatch, api.ErrFingerprintMismatch}},
		"gone": {func(l ledger.Ledger) error {
			_, err := l.Lookup(ctx, ref("gone"))
			return err
		}, []error{ledger.ErrExpired, api.ErrExpired}},
		"fenced": {func(l ledger.Ledger) error {
			_, err := l.Finish(ctx, ref("applied"), hold, ledger.Failed, nil)
			return err
		}, []error{ledger.ErrFenced}},
		"never seen": {func(l ledger.Ledger) error {
			_, err := l.Extend(ctx, ref("never"), hold, time.Minute)
			return err
		}, []error{ledger.ErrNotFound, api.ErrNotFound}},
		"no name": {func(l ledger.Ledger) error {
			_, err := l.Lookup(ctx, ref("h1-truncated"))
			return err
		}, []error{ledger.ErrInvalid, api.ErrBadRequest}},
		"no state": {func(l ledger.Ledger) error {
			_, err := l.List(ctx, "pay", ledger.ListOptions{State: "no"})
			return err
		}, []error{ledger.ErrInvalid}},
		"no lease": {func(l ledger.Ledger) error {
			_, err := l.Extend(ctx, ref("held"), hold, 0)
			return err
		}, []error{ledger.ErrInvalid}},
		"no outcome": {func(l ledger.Ledger) error {
			_, err := l.Settle(ctx, ref("held"), ledger.Unknown, nil)
			return err
		}, []error{ledger.ErrInvalid}},
		"no horizon": {func(l ledger.Ledger) error {
			_, err := l.SetHorizon(ctx, "pay", 0)
			return err
		}, []error{ledger.ErrInvalid}},
		"no UTF-8": {func(l ledger.Ledger) error {
			_, err := l.Begin(ctx, ref("new"), ledger.Attempt{Holder: "\xff"})
			return err
		}, []error{ledger.ErrInvalid}},
	} {
		got, want := c.ask(client), c.ask(inside)
		for _, target := range c.want {
			if !errors.Is(got, target) {
				t.Errorf("%s: %v is not %v", what, got, target)
			}
		}
		told, ok := errors.AsType[*ledger.Refusal](got)
		refusal, _ := errors.AsType[*ledger.Refusal](want)
		if !ok || told.Reason != refusal.Reason || (told.Operation == nil) != (refusal.Operation == nil) ||
			told.RetryAfter < refusal.RetryAfter || told.RetryAfter >= refusal.RetryAfter+time.Second {
			t.Errorf("%s: %+v, want %+v", what, told, refusal)
		}
		if refusal != nil && told != nil && refusal.Operation != nil && !reflect.DeepEqual(told.Operation, refusal.Operation) {
			t.Errorf("%s: %+v, want %+v", what, told.Operation, refusal.Operation)
		}
	}
}

// TestOverloadedLedger: whose limit it is shows in the status, and in the client.
func TestOverloadedLedger(t *testing.T) {
	for own, status := range map[bool]int{true: 429, false: 503} {
		p := api.NewProblem(consulted(&ledger.Refusal{Reason: ledger.ErrOverloaded, Detail: "full", Own: own, RetryAfter: time.Second}))
		if p.Status != status || p.Code() != "overloaded" || p.RetryAfter != time.Second || p.Detail != "overloaded: full" {
			t.Errorf("%+v", p)
		}
	}
}

// TestLedgerOutOfOrder: its requests are answered with the reason, and names are minted.
func TestLedgerOutOfOrder(t *testing.T) {
	d := startServer(t, 0)
	d.source.mu.Lock()
	d.source.mislaid = fmt.Errorf("%w: the disk is on fire", ledger.ErrUnavailable)
	d.source.mu.Unlock()
	client, ctx := &api.Client{Socket: d.socket}, t.Context()
	_, err := client.Begin(ctx, ledger.Ref{Scope: "s", Name: "n"}, ledger.Attempt{Holder: "h"})
	refusal, ok := errors.AsType[*ledger.Refusal](err)
	if !errors.Is(err, ledger.ErrUnavailable) || !ok || refusal.RetryAfter != sourceRetry || refusal.Detail != "the disk is on fire" {
		t.Errorf("%v", err)
	}
	if err := client.Log(ctx, api.LogRequest{}, nil); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if _, err := client.Mint(ctx, api.MintRequest{}); err != nil {
		t.Error(err)
	}
	if line := d.server.scrape(t, "opmint_ledger"); line != "opmint_ledger_up 0\n" {
		t.Errorf("metrics\n%s", line)
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
	_, err = client.Begin(ctx, ledger.Ref{Scope: "s", Name: "n"}, ledger.Attempt{Holder: "h"})
	if !errors.Is(err, ledger.ErrUnavailable) || !errors.Is(err, api.ErrNoDaemon) {
		t.Errorf("no daemon: %v", err)
	}
}

// TestWhoMayChangeTheLedger: what is everybody's is for root and the daemon's user to
// change.
func TestWhoMayChangeTheLedger(t *testing.T) {
	s, _ := newServer(t, keygen.ClassH, 0)
	s.UID = 500
	for _, c := range []struct {
		uid          uint32
		method, path string
		body         string
		status       int
	}{
		{0, "PUT", "/v1/scopes/shared.s", `{"horizon":"1h"}`, 200},
		{500, "PUT", "/v1/scopes/shared.s", `{"horizon":"1h"}`, 200},
		{1000, "PUT", "/v1/scopes/shared.s", `{"horizon":"1h"}`, 403},
		{1000, "PUT", "/v1/scopes/shared.s?uid=x", `{"horizon":"1h"}`, 400},
		{1000, "PUT", "/v1/scopes/sharedness", `{"horizon":"1h"}`, 200},
		{1000, "GET", "/v1/scopes/shared.s", "", 200},
		{0, "POST", "/v1/ledger/accept", "", 204},
		{500, "POST", "/v1/ledger/accept", "", 204},
		{1000, "POST", "/v1/ledger/accept", "", 403},
		{500, "GET", "/v1/operations/s?uid=1000", "", 403},
		{0, "GET", "/v1/operations/s?uid=4294967295", "", 400},
		{0, "GET", "/v1/operations/s?limit=1001", "", 400},
		{0, "GET", "/v1/log?after=-1", "", 400},
		{0, "GET", "/v1/log?wait=31s", "", 400},
		{0, "POST", "/v1/ledger/accept?uid=1", "", 400},
	} {
		r := soundRequest{c.method, "", c.path, "", c.body}.request()
		r = r.WithContext(requestAs(caller{uid: c.uid}, "GET", "/", "").Context())
		if answer := s.serve(r); answer.StatusCode != c.status {
			t.Errorf("%+v: %s", c, answer.Status)
		}
	}
}

// TestLogWaits: for the next event, and no longer than the server serves.
func TestLogWaits(t *testing.T) {
	d := startServer(t, 0)
	client, ctx := &api.Client{Socket: d.socket}, t.Context()
	came := make(chan uint64)
	failed := make(chan error)
	wait := func(after uint64) {
		go func() {
			failed <- client.Log(ctx, api.LogRequest{After: after, Wait: api.MaxLogWait}, func(e ledger.Event) error {
				came <- e.Number
				return nil
			})
		}()
	}
	wait(0)
	if _, err := client.SetHorizon(ctx, "s", time.Hour); err != nil {
		t.Fatal(err)
	}
	first := <-came
	if err := <-failed; err != nil {
		t.Error(err)
	}
	wait(first)
	for _, _, requests := d.server.accounts.count(); requests == 0; _, _, requests = d.server.accounts.count() {
		runtime.Gosched()
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
	if err := <-failed; err != nil {
		t.Errorf("at the stop: %v", err)
	}
}

// TestLogWaitsAsLongAsItSays: no deadline of the connection comes before.
func TestLogWaitsAsLongAsItSays(t *testing.T) {
	inBubble(t, keygen.ClassH, func(*Server) {}, func(t *testing.T, p *pipes) {
		began := time.Now()
		answer := p.request(p.dial(1000), get("/v1/log?after=99&wait=30s"))
		if took := time.Since(began); answer.StatusCode != 200 || took != api.MaxLogWait {
			t.Errorf("status %d after %v", answer.StatusCode, took)
		}
	})
}
