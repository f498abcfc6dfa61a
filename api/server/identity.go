package server

import (
	"fmt"
	"net/http"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// name answers GET /v1/names/{name}.
func (s *Server) name(r *request) (action, error) {
	if err := r.bare(); err != nil {
		return nil, err
	}
	name, err := keygen.Parse(r.variables[0])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", api.ErrBadRequest, err)
	}
	return func(a *answer) error {
		info := api.Describe(name)
		if name.Minted() {
			ctx, cancel := a.within()
			defer cancel()
			at, here, err := s.Source.Lookup(ctx, name)
			if err != nil {
				return unavailable(fmt.Errorf("look up the name: %w", err))
			}
			if here {
				info.Here, info.Claimed = true, at.UTC()
			}
		}
		return a.json(http.StatusOK, info)
	}, nil
}

// identity answers GET /v1/identity.
func (s *Server) identity(r *request) (action, error) {
	return s.tellIdentity, r.bare()
}

func (s *Server) tellIdentity(a *answer) error {
	ctx, cancel := a.within()
	defer cancel()
	id, err := s.Source.Identity(ctx)
	if err != nil {
		return unavailable(fmt.Errorf("tell the identity: %w", err))
	}
	return a.json(http.StatusOK, id)
}

// renew answers POST /v1/identity/renew.
func (s *Server) renew(r *request) (action, error) {
	return func(a *answer) error {
		ctx, cancel := a.within()
		defer cancel()
		if err := s.Source.Renew(ctx); err != nil {
			return unavailable(fmt.Errorf("renew the identity: %w", err))
		}
		return s.tellIdentity(a)
	}, r.bare()
}

// health answers GET /v1/healthz.
func (s *Server) health(r *request) (action, error) {
	return func(a *answer) error {
		return a.json(http.StatusOK, api.Health{Version: s.Version, API: api.Level})
	}, r.bare()
}

// ready answers GET /v1/readyz.
func (s *Server) ready(r *request) (action, error) {
	return func(a *answer) error {
		ctx, cancel := a.within()
		defer cancel()
		_, epoch, err := s.Minter.Epoch()
		if err != nil {
			return unavailable(err)
		}
		ready := api.Readiness{Ready: true}
		if err := s.Source.CanClaim(ctx); err != nil {
			left := s.Minter.Left()
			if left == 0 {
				return unavailable(fmt.Errorf("epoch %d is used up, and another cannot be claimed: %w", epoch, err))
			}
			ready.Warning = fmt.Sprintf("minting goes on in epoch %d, which has %d names left, but no other can be claimed: %v",
				epoch, left, err)
		}
		return a.json(http.StatusOK, ready)
	}, r.bare()
}
