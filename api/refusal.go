package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/opmint/opmint/ledger"
)

// refused is a problem that says what a ledger said, as both.
type refused struct {
	text    string
	problem *Problem
	refusal *ledger.Refusal
}

// Error returns what the daemon said.
func (r *refused) Error() string { return r.text }

// Unwrap returns the problem and the refusal.
func (r *refused) Unwrap() []error { return []error{r.problem, r.refusal} }

// ledgerError returns an error of a request to the ledger as a [ledger.Ledger]
// gives it: where the daemon did not say what is the matter, the ledger is not
// available.
func ledgerError(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	p, told := errors.AsType[*Problem](err)
	if !told || errors.Is(p, ErrInternal) {
		return fmt.Errorf("%w: %w", ledger.ErrUnavailable, err)
	}
	k := slices.IndexFunc(kinds, func(k kind) bool { return p.Type == typePrefix+k.code })
	if k < 0 || kinds[k].inLedger == nil {
		return err
	}
	reason := kinds[k].inLedger
	refusal := &ledger.Refusal{
		Reason: reason, Detail: strings.TrimPrefix(p.Detail, reason.Error()+": "), RetryAfter: p.RetryAfter,
		Own: p.Status == http.StatusTooManyRequests,
	}
	if p.Operation != nil {
		refusal.Operation = new(p.Operation.Ledger())
	}
	return &refused{err.Error(), p, refusal}
}

// fromLedger adds what a ledger's refusal says to the problem that it is.
func (p *Problem) fromLedger(r *ledger.Refusal) {
	p.RetryAfter = r.RetryAfter
	if r.Own {
		p.Status = http.StatusTooManyRequests
	}
	if r.Operation != nil {
		p.Operation = TellOperation(*r.Operation)
	}
}
