package server

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
)

// nameInStream answers PUT /v1/streams/{stream}/names/{intent}.
func (s *Server) nameInStream(r *request) (action, error) {
	uid, stream, err := r.stream()
	if err != nil {
		return nil, err
	}
	intent := r.variables[1]
	if err := journal.ValidIntent(intent); err != nil {
		return nil, remembered(err)
	}
	return func(a *answer) error {
		return a.recall(func(ctx context.Context) error {
			n, err := s.Intents.Number(ctx, uid, stream, intent)
			if err != nil {
				return err
			}
			return a.json(s.counted(n.Replayed), &api.StreamName{
				Stream: n.Stream, Edition: n.Edition, Seq: n.Seq, Name: n.Name, Base: n.Base, Replayed: n.Replayed, Void: n.Void,
			})
		})
	}, r.noBody()
}

// voidSeq answers DELETE /v1/streams/{stream}/seqs/{seq}.
func (s *Server) voidSeq(r *request) (action, error) {
	uid, stream, err := r.stream()
	if err != nil {
		return nil, err
	}
	text := r.variables[1]
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil || strconv.FormatUint(seq, 10) != text {
		return nil, fmt.Errorf("%w: seq %.40q: a number from 0 on", api.ErrBadRequest, text)
	}
	return settle(func(ctx context.Context) error { return s.Intents.Void(ctx, uid, stream, seq) }), r.noBody()
}

// acked answers POST /v1/streams/{stream}/acked.
func (s *Server) acked(r *request) (action, error) {
	uid, stream, err := r.stream()
	if err != nil {
		return nil, err
	}
	var body api.AckRequest
	if err := r.body(&body); err != nil {
		return nil, err
	}
	if body.Below == nil {
		return nil, fmt.Errorf("%w: below is missing: the number of which all below have ended", api.ErrBadRequest)
	}
	return settle(func(ctx context.Context) error { return s.Intents.Acked(ctx, uid, stream, *body.Below) }), nil
}

// newEdition answers POST /v1/streams/{stream}/edition.
func (s *Server) newEdition(r *request) (action, error) {
	uid, stream, err := r.stream()
	if err != nil {
		return nil, err
	}
	var body api.EditionRequest
	if err := r.body(&body); err != nil {
		return nil, err
	}
	var above keygen.Edition
	if body.Above != nil {
		above = *body.Above
	}
	return func(a *answer) error {
		return a.recall(func(ctx context.Context) error {
			e, err := s.Intents.NewEdition(ctx, uid, stream, above)
			if err != nil {
				return err
			}
			return a.json(http.StatusCreated, &api.Edition{Stream: e.Stream, Edition: e.Edition, Base: e.Base})
		})
	}, nil
}

// stream reads what all requests about a stream have.
func (r *request) stream() (uid uint32, stream string, err error) {
	stream = r.variables[0]
	if err := journal.ValidStream(stream); err != nil {
		return 0, "", remembered(err)
	}
	uid, err = r.owner()
	return uid, stream, err
}
