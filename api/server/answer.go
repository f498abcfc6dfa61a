package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// Media types, as header values that all answers share.
var (
	jsonType    = []string{"application/json"}
	textType    = []string{"text/plain; charset=utf-8"}
	problemType = []string{"application/problem+json"}
)

// answer is where an action answers.
type answer struct {
	http.ResponseWriter
	request *http.Request
	account *account // of the caller
	started bool
	status  int // once it started
}

// within returns the context for what the daemon is asked on the client's behalf.
// It does not end with the request's: that of a client that has closed its half
// of the connection is over while it waits for its answer, and a claim that is
// interrupted is a number lost. Nor does the time that it takes count as the
// client's to read the answer.
func (a *answer) within() (context.Context, context.CancelFunc) {
	// Fails where the answer goes to no connection.
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(sourceTime + writeTime))
	return context.WithTimeout(context.WithoutCancel(a.request.Context()), sourceTime)
}

// WriteHeader begins the answer: from here on it cannot become a problem.
func (a *answer) WriteHeader(status int) {
	a.started, a.status = true, status
	a.ResponseWriter.WriteHeader(status)
}

// json answers with v.
func (a *answer) json(status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	body = append(body, '\n')
	a.Header()["Content-Type"] = jsonType
	a.Header()["Content-Length"] = []string{strconv.Itoa(len(body))} // net/http finds out by itself where it is short
	a.WriteHeader(status)
	_, err = a.Write(body)
	return err
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	var x struct {
		request
		answer
	}
	r, a := &x.request, &x.answer
	*r = request{Request: hr, caller: callerIn(hr.Context()), unread: hr.Body != http.NoBody}
	if r.caller.account == nil {
		r.caller.account = s.accounts.of(r.caller.uid)
	}
	*a = answer{ResponseWriter: w, request: hr, account: r.caller.account}
	err := s.handleWithin(a, r)
	if err != nil && !a.started {
		s.refuse(a, r, err)
	}
	if s.Log.Enabled(hr.Context(), slog.LevelDebug) {
		s.Log.Debug("request", append(r.about(), "status", a.status, "error", err)...)
	}
	if err != nil && a.status < http.StatusBadRequest {
		// Closes the connection, so that the client sees that something is
		// missing.
		panic(http.ErrAbortHandler)
	}
}

// handleWithin handles a request if its caller has not too many in flight.
func (s *Server) handleWithin(a *answer, r *request) error {
	if err := a.account.begin(); err != nil {
		return err
	}
	defer func() {
		a.account.end()
		if r.held > 0 {
			a.account.dropBody(r.held)
		}
	}()
	return s.handle(a, r)
}

// handle finds what is asked for, and does it if the caller may.
func (s *Server) handle(a *answer, r *request) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			s.lines.write("fault", slog.LevelError, "fault in a handler",
				"method", r.Method, "fault", fault, "stack", string(debug.Stack()))
			err = api.ErrInternal
		}
	}()
	route, allowed, err := s.find(r)
	if err != nil {
		if allowed != nil {
			a.Header().Set("Allow", strings.Join(allowed, ", "))
		}
		return err
	}
	r.refusal = s.admit(r, route)
	act, err := route.handle(r)
	if err != nil {
		return err
	}
	if r.refusal != nil {
		return r.refusal
	}
	return act(a)
}

// admit returns why the caller of a sound request may not make it, or nil.
func (s *Server) admit(r *request, route *route) error {
	if err := r.caller.check(); err != nil {
		return err
	}
	if r.Header["Origin"] != nil {
		return fmt.Errorf("%w: it comes from a web page (it has an Origin)", api.ErrForbidden)
	}
	if err := checkHost(r.Host); err != nil {
		return err
	}
	if route.wears && s.Minter.Class() == keygen.ClassH && r.caller.uid != 0 && r.caller.uid != s.UID {
		return fmt.Errorf("%w: you are uid %d: where it wears the TPM (class h), %s is for root and uid %d, the daemon's",
			api.ErrForbidden, r.caller.uid, route.path, s.UID)
	}
	return nil
}

// refuse answers with a problem.
func (s *Server) refuse(a *answer, r *request, err error) {
	p := api.NewProblem(err)
	s.noteRefusal(p, r.about()...)
	h := a.Header()
	h["Content-Type"] = problemType
	if p.RetryAfter > 0 {
		h.Set("Retry-After", retryAfter(p))
	}
	if r.unread {
		// Otherwise net/http would wait for the rest of the body before it
		// answers.
		h.Set("Connection", "close")
	}
	body, _ := json.Marshal(p) // strings and a number always have a JSON
	body = append(body, '\n')
	h.Set("Content-Length", strconv.Itoa(len(body)))
	// The request may have used up all the time there was, as one that stalls does.
	// Fails where the answer goes to no connection.
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTime))
	a.WriteHeader(p.Status)
	if _, err := a.Write(body); err != nil {
		s.Log.Debug("problem not delivered", slog.Any("error", err))
	}
}

// retryAfter returns when to come again, in whole seconds.
func retryAfter(p *api.Problem) string {
	return strconv.FormatInt(int64((p.RetryAfter+time.Second-1)/time.Second), 10)
}

// unavailable wraps an error of the daemon's own doing, unless it says already
// how it is to be answered. Waiting may help, but where the counter is of no use
// any more.
func unavailable(err error) error {
	if api.NewProblem(err).Status != http.StatusInternalServerError || errors.Is(err, api.ErrInternal) {
		return err
	}
	p := api.NewProblem(fmt.Errorf("%w: %w", api.ErrUnavailable, err))
	if !errors.Is(err, keygen.ErrWentBack) && !errors.Is(err, keygen.ErrExhausted) {
		p.RetryAfter = sourceRetry
	}
	return p
}
