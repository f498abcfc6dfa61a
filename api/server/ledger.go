package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/ledger"
)

// consult does what uses the ledger, within the time there is for it.
func (s *Server) consult(a *answer, do func(context.Context, *ledger.Keeper) error) error {
	p := patience{answer: a}
	defer p.end()
	k, err := s.keeper()
	if err == nil {
		err = do(&p, k)
	}
	if err != nil && !a.started {
		err = consulted(err)
	}
	return err
}

// keeper returns the ledger, or why there is none.
func (s *Server) keeper() (*ledger.Keeper, error) {
	if s.Ledger == nil {
		return nil, fmt.Errorf("%w: this daemon keeps none", ledger.ErrUnavailable)
	}
	return s.Ledger()
}

// consulted returns an error of the ledger as it is answered. Whatever keeps the
// ledger from an answer may be over when the request is made again.
func consulted(err error) error {
	if _, refused := errors.AsType[*ledger.Refusal](err); refused || !errors.Is(err, ledger.ErrUnavailable) {
		return unavailable(err)
	}
	p := api.NewProblem(err)
	p.RetryAfter = sourceRetry
	return p
}

// scope answers GET /v1/scopes/{scope}.
func (s *Server) scope(r *request) (action, error) {
	uid, err := r.owner()
	if err != nil {
		return nil, err
	}
	return s.tellScope(func(ctx context.Context, k *ledger.Keeper) (ledger.Scope, error) {
		return k.As(uid).Scope(ctx, r.variables[0])
	}), r.noBody()
}

// setScope answers PUT /v1/scopes/{scope}.
func (s *Server) setScope(r *request) (action, error) {
	uid, err := r.owner()
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(r.variables[0], ledger.SharedPrefix) {
		s.demandOwner(r, "to change a scope that all share")
	}
	var body api.ScopeRequest
	if err := r.body(&body); err != nil {
		return nil, err
	}
	return s.tellScope(func(ctx context.Context, k *ledger.Keeper) (ledger.Scope, error) {
		return k.As(uid).SetHorizon(ctx, r.variables[0], time.Duration(body.Horizon))
	}), nil
}

// tellScope returns the action that tells of a scope.
func (s *Server) tellScope(get func(context.Context, *ledger.Keeper) (ledger.Scope, error)) action {
	return func(a *answer) error {
		return s.consult(a, func(ctx context.Context, k *ledger.Keeper) error {
			scope, err := get(ctx, k)
			if err != nil {
				return err
			}
			info, err := k.Info(ctx)
			if err != nil {
				return err
			}
			return a.json(http.StatusOK, api.TellScope(scope, info))
		})
	}
}

// acceptLedger answers POST /v1/ledger/accept.
func (s *Server) acceptLedger(r *request) (action, error) {
	if _, err := r.query(); err != nil {
		return nil, err
	}
	s.demandOwner(r, "to accept the ledger")
	uid := r.caller.uid
	return func(a *answer) error {
		return s.consult(a, func(ctx context.Context, k *ledger.Keeper) error {
			if err := k.Accept(ctx, uid); err != nil {
				return err
			}
			a.WriteHeader(http.StatusNoContent)
			return nil
		})
	}, r.noBody()
}

// demandOwner refuses a request unless its caller is root or the daemon's own user.
func (s *Server) demandOwner(r *request, what string) {
	if r.refusal == nil && r.caller.uid != 0 && r.caller.uid != s.UID {
		r.refusal = fmt.Errorf("%w: you are uid %d: %s is for root and uid %d, the daemon's",
			api.ErrForbidden, r.caller.uid, what, s.UID)
	}
}
