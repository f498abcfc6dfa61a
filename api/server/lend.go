package server

import (
	"fmt"
	"net/http"

	"github.com/opmint/opmint/api"
)

// lend answers POST /v1/leases.
func (s *Server) lend(r *request) (action, error) {
	if _, err := r.query(); err != nil {
		return nil, err
	}
	var asked api.LeaseRequest
	if err := r.body(&asked); err != nil {
		return nil, err
	}
	if asked.Count < 1 || asked.Count > api.MaxLease {
		return nil, fmt.Errorf("%w: count %d: a number from 1 to %d", api.ErrBadRequest, asked.Count, api.MaxLease)
	}
	return func(a *answer) error {
		if err := a.account.takeNames(asked.Count); err != nil {
			return err
		}
		l, err := s.lease(a, asked.Count)
		if err != nil {
			return err
		}
		s.Metrics.leases.Inc()
		s.Metrics.leased.Add(float64(l.Count()))
		return a.json(http.StatusCreated, api.NewLease(l.Terms(), life(l.Terms().Class)))
	}, nil
}
