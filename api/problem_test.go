package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/ledger"
)

// TestProblems: code, status and error stand for each other.
func TestProblems(t *testing.T) {
	all := []error{
		api.ErrBadRequest, api.ErrForbidden, api.ErrNotFound, api.ErrMethodNotAllowed, api.ErrTooLarge,
		api.ErrExpired, api.ErrFingerprintMismatch, api.ErrOverloaded, api.ErrUnavailable, api.ErrInternal,
		ledger.ErrInProgress, ledger.ErrOutcomeUnknown, ledger.ErrFenced,
	}
	for _, c := range []struct {
		err, is error
		code    string
		status  int
	}{
		{api.ErrBadRequest, api.ErrBadRequest, "bad-request", 400},
		{api.ErrForbidden, api.ErrForbidden, "forbidden", 403},
		{api.ErrNotFound, api.ErrNotFound, "not-found", 404},
		{api.ErrMethodNotAllowed, api.ErrMethodNotAllowed, "method-not-allowed", 405},
		{api.ErrTooLarge, api.ErrTooLarge, "too-large", 413},
		{api.ErrExpired, api.ErrExpired, "expired", 410},
		{api.ErrFingerprintMismatch, api.ErrFingerprintMismatch, "fingerprint-mismatch", 422},
		{api.ErrOverloaded, api.ErrOverloaded, "overloaded", 503},
		{api.ErrUnavailable, api.ErrUnavailable, "unavailable", 503},
		{api.ErrInternal, api.ErrInternal, "internal", 500},
		{ledger.ErrInvalid, api.ErrBadRequest, "bad-request", 400},
		{ledger.ErrNotFound, api.ErrNotFound, "not-found", 404},
		{ledger.ErrExpired, api.ErrExpired, "expired", 410},
		{ledger.ErrMismatch, api.ErrFingerprintMismatch, "fingerprint-mismatch", 422},
		{ledger.ErrInProgress, ledger.ErrInProgress, "in-progress", 409},
		{ledger.ErrOutcomeUnknown, ledger.ErrOutcomeUnknown, "outcome-unknown", 409},
		{ledger.ErrFenced, ledger.ErrFenced, "fenced", 409},
		{ledger.ErrOverloaded, api.ErrOverloaded, "overloaded", 503},
		{ledger.ErrUnavailable, api.ErrUnavailable, "unavailable", 503},
		{io.ErrUnexpectedEOF, api.ErrInternal, "internal", 500},
	} {
		p := api.NewProblem(fmt.Errorf("mint 3 names: %w", c.err))
		if p.Type != "urn:opmint:problem:"+c.code || p.Code() != c.code || p.Status != c.status || p.Title == "" ||
			p.Error() != "mint 3 names: "+c.err.Error() {
			t.Errorf("%v: %+v", c.err, p)
		}
		wire, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		back := new(api.Problem)
		if err := json.Unmarshal(wire, back); err != nil {
			t.Fatal(err)
		}
		for _, other := range all {
			if errors.Is(back, other) != (other == c.is) {
				t.Errorf("%s is %v: %v", wire, other, other != c.is)
			}
		}
		if !errors.Is(back, c.err) && !errors.Is(c.err, io.ErrUnexpectedEOF) {
			t.Errorf("%s is not %v", wire, c.err)
		}
	}
}

// TestProblemsOfProblems: a problem that was wrapped stays what it was.
func TestProblemsOfProblems(t *testing.T) {
	inner := api.NewProblem(fmt.Errorf("%w: no claims left", api.ErrOverloaded))
	inner.RetryAfter, inner.Status = time.Minute, 429
	p := api.NewProblem(fmt.Errorf("mint: %w", inner))
	if p.Code() != "overloaded" || p.Status != 429 || p.RetryAfter != time.Minute ||
		p.Detail != "mint: overloaded: no claims left" {
		t.Errorf("%+v", p)
	}
	if inner.Detail != "overloaded: no claims left" {
		t.Errorf("the inner one changed: %+v", inner)
	}
}
