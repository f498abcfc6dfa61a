package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/ledger"
)

// beginOperation answers PUT /v1/operations/{scope}/{name}.
func (s *Server) beginOperation(r *request) (action, error) {
	var body api.BeginRequest
	return s.operate(r, &body, func(ctx context.Context, l ledger.Ledger, ref ledger.Ref) (ledger.Operation, error) {
		return l.Begin(ctx, ref, ledger.Attempt{
			Holder: body.Holder, Fingerprint: body.Fingerprint, Lease: time.Duration(body.Lease), Orphan: body.Orphan,
		})
	})
}

// extendOperation answers POST /v1/operations/{scope}/{name}/extend.
func (s *Server) extendOperation(r *request) (action, error) {
	var body api.ExtendRequest
	return s.operate(r, &body, func(ctx context.Context, l ledger.Ledger, ref ledger.Ref) (ledger.Operation, error) {
		return l.Extend(ctx, ref, ledger.Hold{Holder: body.Holder, Fence: body.Fence}, time.Duration(body.Lease))
	})
}

// finishOperation answers POST /v1/operations/{scope}/{name}/finish.
func (s *Server) finishOperation(r *request) (action, error) {
	var body api.FinishRequest
	return s.operate(r, &body, func(ctx context.Context, l ledger.Ledger, ref ledger.Ref) (ledger.Operation, error) {
		hold := ledger.Hold{Holder: body.Holder, Fence: body.Fence}
		return l.Finish(ctx, ref, hold, body.Outcome, body.Result.Ledger())
	})
}

// settleOperation answers POST /v1/operations/{scope}/{name}/settle.
func (s *Server) settleOperation(r *request) (action, error) {
	var body api.SettleRequest
	return s.operate(r, &body, func(ctx context.Context, l ledger.Ledger, ref ledger.Ref) (ledger.Operation, error) {
		return l.Settle(ctx, ref, body.Outcome, body.Result.Ledger())
	})
}

// operation answers GET /v1/operations/{scope}/{name}.
func (s *Server) operation(r *request) (action, error) {
	return s.operate(r, nil, func(ctx context.Context, l ledger.Ledger, ref ledger.Ref) (ledger.Operation, error) {
		return l.Lookup(ctx, ref)
	})
}

// operate returns what does something with an operation and tells what has become of
// it. The request's body goes into body; nil is none.
func (s *Server) operate(
	r *request, body any, do func(context.Context, ledger.Ledger, ledger.Ref) (ledger.Operation, error),
) (action, error) {
	uid, err := r.owner()
	if err != nil {
		return nil, err
	}
	if err := r.bodyOrNone(body); err != nil {
		return nil, err
	}
	ref := ledger.Ref{Scope: r.variables[0], Name: r.variables[1]}
	begins := r.Method == http.MethodPut
	return func(a *answer) error {
		return s.consult(a, func(ctx context.Context, k *ledger.Keeper) error {
			o, err := do(ctx, k.As(uid), ref)
			if err != nil {
				return err
			}
			status := http.StatusOK
			if begins && !o.Replayed {
				status = http.StatusCreated
			}
			return a.json(status, api.TellOperation(o))
		})
	}, nil
}

// absorb answers POST /v1/operations/{scope}.
func (s *Server) absorb(r *request) (action, error) {
	uid, err := r.owner()
	if err != nil {
		return nil, err
	}
	var body api.AbsorbRequest
	if err := r.body(&body); err != nil {
		return nil, err
	}
	if len(body.Names) == 0 || len(body.Names) > ledger.MaxAbsorb {
		return nil, fmt.Errorf("%w: %d names: there must be 1 to %d", api.ErrBadRequest, len(body.Names), ledger.MaxAbsorb)
	}
	items := make([]ledger.Item, len(body.Names))
	for i, name := range body.Names {
		items[i] = ledger.Item(name)
	}
	return func(a *answer) error {
		return s.consult(a, func(ctx context.Context, k *ledger.Keeper) error {
			verdicts, err := k.As(uid).Absorb(ctx, r.variables[0], items)
			if err != nil {
				return err
			}
			return a.json(http.StatusOK, &api.Absorbed{Results: verdicts})
		})
	}, nil
}

// operations answers GET /v1/operations/{scope}.
func (s *Server) operations(r *request) (action, error) {
	query, err := r.query("uid", "state", "after", "limit")
	if err != nil {
		return nil, err
	}
	uid, err := r.ownerIn(query)
	if err != nil {
		return nil, err
	}
	options := ledger.ListOptions{State: ledger.State(query.Get("state")), After: query.Get("after")}
	if query.Has("limit") {
		limit, err := number(query, "limit", ledger.MaxList)
		if err != nil {
			return nil, err
		}
		options.Limit = int(limit)
	}
	return func(a *answer) error {
		return s.consult(a, func(ctx context.Context, k *ledger.Keeper) error {
			page, err := k.As(uid).List(ctx, r.variables[0], options)
			if err != nil {
				return err
			}
			told := api.Operations{Operations: make([]*api.Operation, len(page.Operations)), Next: page.Next}
			for i, o := range page.Operations {
				told.Operations[i] = api.TellOperation(o)
			}
			return a.json(http.StatusOK, &told)
		})
	}, r.noBody()
}

// bodyOrNone reads the request's body into v, or refuses one if v is nil.
func (r *request) bodyOrNone(v any) error {
	if v == nil {
		return r.noBody()
	}
	return r.body(v)
}
