package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
)

// Intents is what knows which names were given to which intents; it is a
// [journal.Intents], where the methods are described. All are called by many
// goroutines at once.
type Intents interface {
	// Name returns the name of an intent, which it is given if it is new.
	Name(ctx context.Context, uid uint32, a journal.Ask) (journal.Intent, error)
	// Get returns what is known of an intent.
	Get(ctx context.Context, uid uint32, intent string) (journal.Intent, error)
	// Delete forgets an intent on its caller's word.
	Delete(ctx context.Context, uid uint32, intent string) error
	// ValidRetain says what is wrong with a time to remember an intent, or nil.
	ValidRetain(retain time.Duration) error

	// Number returns the number and the name of an intent in a stream.
	Number(ctx context.Context, uid uint32, stream, intent string) (journal.Numbered, error)
	// Void declares that a number is never to be run.
	Void(ctx context.Context, uid uint32, stream string, seq uint64) error
	// Acked moves up the base of a stream.
	Acked(ctx context.Context, uid uint32, stream string, below uint64) error
	// NewEdition draws a new edition of a stream.
	NewEdition(ctx context.Context, uid uint32, stream string, above keygen.Edition) (journal.Edition, error)
}

// quotaRetry is when to ask again for what there was no quota for: intents end in
// days, but some of them may be about to.
const quotaRetry = time.Minute

// nameIntent answers PUT /v1/intents/{intent}.
func (s *Server) nameIntent(r *request) (action, error) {
	uid, intent, err := r.intent()
	if err != nil {
		return nil, err
	}
	var body api.IntentRequest
	if err := r.body(&body); err != nil {
		return nil, err
	}
	ask := journal.Ask{Intent: intent}
	if body.Fingerprint != nil {
		ask.Fingerprint = journal.Fingerprint{Sum: *body.Fingerprint, Known: true}
	}
	if body.Retain != nil {
		ask.Retain = time.Duration(*body.Retain)
		if err := s.Intents.ValidRetain(ask.Retain); err != nil {
			return nil, remembered(err)
		}
	}
	return func(a *answer) error {
		return a.recall(func(ctx context.Context) error {
			in, err := s.Intents.Name(ctx, uid, ask)
			if err != nil {
				return err
			}
			return a.json(s.counted(in.Replayed), tellIntent(in))
		})
	}, nil
}

// counted counts an intent that was asked for, and returns the answer's status.
func (s *Server) counted(replayed bool) int {
	if replayed {
		s.Metrics.recalled.Inc()
		return http.StatusOK
	}
	s.Metrics.named.Inc()
	return http.StatusCreated
}

// intent answers GET /v1/intents/{intent}.
func (s *Server) intent(r *request) (action, error) {
	uid, intent, err := r.intent()
	if err != nil {
		return nil, err
	}
	return func(a *answer) error {
		return a.recall(func(ctx context.Context) error {
			in, err := s.Intents.Get(ctx, uid, intent)
			if err != nil {
				return err
			}
			return a.json(http.StatusOK, tellIntent(in))
		})
	}, r.noBody()
}

// deleteIntent answers DELETE /v1/intents/{intent}.
func (s *Server) deleteIntent(r *request) (action, error) {
	uid, intent, err := r.intent()
	if err != nil {
		return nil, err
	}
	return settle(func(ctx context.Context) error { return s.Intents.Delete(ctx, uid, intent) }), r.noBody()
}

// settle returns the action that does something and has nothing to tell.
func settle(do func(context.Context) error) action {
	return func(a *answer) error {
		return a.recall(func(ctx context.Context) error {
			if err := do(ctx); err != nil {
				return err
			}
			a.WriteHeader(http.StatusNoContent)
			return nil
		})
	}
}

// recall does what uses the daemon's memory, within the time there is for it.
func (a *answer) recall(do func(context.Context) error) error {
	p := patience{answer: a}
	defer p.end()
	err := do(&p)
	if err != nil && !a.started {
		err = remembered(err)
	}
	return err
}

func tellIntent(in journal.Intent) *api.Intent {
	told := &api.Intent{
		Intent: in.Intent, Name: in.Name, Created: in.Created, Expires: in.Expires, Replayed: in.Replayed,
		MemorySince: in.Since,
	}
	if in.Fingerprint.Known {
		told.Fingerprint = (*api.Fingerprint)(&in.Fingerprint.Sum)
	}
	return told
}

// intent reads what all requests about an intent have.
func (r *request) intent() (uid uint32, intent string, err error) {
	intent = r.variables[0]
	if err := journal.ValidIntent(intent); err != nil {
		return 0, "", remembered(err)
	}
	uid, err = r.owner()
	return uid, intent, err
}

// owner returns whose intents, streams or operations a request is about: the caller's, unless
// root says another's.
func (r *request) owner() (uint32, error) {
	query, err := r.query("uid")
	if err != nil {
		return 0, err
	}
	return r.ownerIn(query)
}

// ownerIn is owner for a request whose parameters have been read.
func (r *request) ownerIn(query url.Values) (uint32, error) {
	if !query.Has("uid") {
		return r.caller.uid, nil
	}
	text := query.Get("uid")
	uid, err := strconv.ParseUint(text, 10, 32)
	if err != nil || strconv.FormatUint(uid, 10) != text {
		return 0, fmt.Errorf("%w: uid %.40q: the number of a user", api.ErrBadRequest, text)
	}
	if r.caller.uid != 0 && uint32(uid) != r.caller.uid && r.refusal == nil {
		r.refusal = fmt.Errorf("%w: you are uid %d, and only root may ask for what is another's",
			api.ErrForbidden, r.caller.uid)
	}
	return uint32(uid), nil
}

// remembered returns an error of the Intents as it is answered.
func remembered(err error) error {
	for _, known := range []struct{ err, as error }{
		{keygen.ErrInvalid, api.ErrBadRequest}, {journal.ErrUnknown, api.ErrNotFound}, {journal.ErrExpired, api.ErrExpired},
		{journal.ErrMismatch, api.ErrFingerprintMismatch},
		{journal.ErrQuota, overloaded(http.StatusTooManyRequests, quotaRetry, "quota")},
	} {
		if errors.Is(err, known.err) {
			return recoded{err, known.as}
		}
	}
	return unavailable(err)
}

// recoded is an error that is answered as another one, in its own words.
type recoded struct{ err, as error }

// Error returns the words.
func (r recoded) Error() string { return r.err.Error() }

// Unwrap returns both.
func (r recoded) Unwrap() []error { return []error{r.err, r.as} }
