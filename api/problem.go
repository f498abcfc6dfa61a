package api

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/opmint/opmint/ledger"
)

// What can go wrong, for errors.Is on either side of the socket. So do the errors of
// package ledger, which those of the same meaning here are as well, once they have
// come over the socket.
var (
	ErrBadRequest       = errors.New("bad request")        // not a request that the API knows: repeating it won't help
	ErrForbidden        = errors.New("forbidden")          // not for this caller
	ErrNotFound         = errors.New("not found")          // nothing there
	ErrMethodNotAllowed = errors.New("method not allowed") // the path is there, for other methods
	ErrTooLarge         = errors.New("too large")          // a header or a body beyond the limit
	ErrExpired          = errors.New("expired")            // it was known and is forgotten: it may have been carried out
	ErrOverloaded       = errors.New("overloaded")         // a limit was reached: waiting helps
	ErrUnavailable      = errors.New("unavailable")        // the daemon cannot do it now
	ErrInternal         = errors.New("internal error")     // a fault of the daemon; its log says more

	// ErrFingerprintMismatch says that an intent or an operation is known with another
	// payload.
	ErrFingerprintMismatch = errors.New("fingerprint mismatch")
)

// What only a client can know.
var (
	// ErrNoDaemon says that nobody listens on the socket.
	ErrNoDaemon = errors.New("no opmintd there")

	// ErrUnanswered says that the daemon was asked and its whole answer did not
	// come: it stopped, was killed, or hangs. What was asked for may have been done.
	ErrUnanswered = errors.New("not answered, and the outcome is not known")
)

// typePrefix begins a problem's type; its code follows.
const typePrefix = "urn:opmint:problem:"

// kind is a kind of problem: what it is called on the wire and in Go.
type kind struct {
	code     string
	status   int
	title    string
	err      error // of this package; nil: there is only that of package ledger
	inLedger error // of package ledger; nil: a ledger says no such thing
}

// is reports whether the kind stands for target.
func (k *kind) is(target error) bool {
	return target != nil && (target == k.err || target == k.inLedger)
}

// fits reports whether err is of the kind.
func (k *kind) fits(err error) bool {
	return k.err != nil && errors.Is(err, k.err) || k.inLedger != nil && errors.Is(err, k.inLedger)
}

// kinds is the table that both ends use. The first row that fits an error is
// what the error is; one that fits none is of the last.
var kinds = []kind{
	{"bad-request", 400, "Bad request", ErrBadRequest, ledger.ErrInvalid},
	{"forbidden", 403, "Forbidden", ErrForbidden, nil},
	{"not-found", 404, "Not found", ErrNotFound, ledger.ErrNotFound},
	{"method-not-allowed", 405, "Method not allowed", ErrMethodNotAllowed, nil},
	{"too-large", 413, "Too large", ErrTooLarge, nil},
	{"expired", 410, "Expired", ErrExpired, ledger.ErrExpired},
	{"fingerprint-mismatch", 422, "Fingerprint mismatch", ErrFingerprintMismatch, ledger.ErrMismatch},
	{"in-progress", 409, "In progress", nil, ledger.ErrInProgress},
	{"outcome-unknown", 409, "Outcome unknown", nil, ledger.ErrOutcomeUnknown},
	{"fenced", 409, "Fenced", nil, ledger.ErrFenced},
	{"overloaded", 503, "Overloaded", ErrOverloaded, ledger.ErrOverloaded},
	{"unavailable", 503, "Unavailable", ErrUnavailable, ledger.ErrUnavailable},
	{"internal", 500, "Internal error", ErrInternal, nil},
}

// Problem is a refusal as it goes over the wire, and the error that a [Client]
// returns for it (RFC 9457).
type Problem struct {
	Type   string `json:"type"`             // urn:opmint:problem: and the code
	Title  string `json:"title"`            // the same for all problems of a type
	Status int    `json:"status"`           // the answer's status code
	Detail string `json:"detail,omitempty"` // what happened, to what, and what to do

	// Operation is what the ledger knows of an operation all the same, without its
	// result.
	Operation *Operation `json:"operation,omitempty"`

	// RetryAfter is how long to wait before another try, 0 where waiting does
	// not help. It travels in the header of that name, in whole seconds.
	RetryAfter time.Duration `json:"-"`
}

// NewProblem returns err as it goes over the wire. A [*Problem] that err wraps
// keeps its type, status and RetryAfter; a [*ledger.Refusal] gives its own. What is
// no error of this package or of package ledger is an internal one.
func NewProblem(err error) *Problem {
	if known, ok := errors.AsType[*Problem](err); ok {
		p := *known
		p.Detail = err.Error()
		return &p
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.fits(err) })
	if i < 0 {
		i = len(kinds) - 1
	}
	k := kinds[i]
	p := &Problem{Type: typePrefix + k.code, Title: k.title, Status: k.status, Detail: err.Error()}
	if r, ok := errors.AsType[*ledger.Refusal](err); ok {
		p.fromLedger(r)
	}
	return p
}

// Code returns what follows urn:opmint:problem: in the problem's type.
func (p *Problem) Code() string { return strings.TrimPrefix(p.Type, typePrefix) }

// Error returns the detail, or the title where there is none.
func (p *Problem) Error() string { return cmp.Or(p.Detail, p.Title) }

// Is reports whether target is the error that the problem's code stands for.
func (p *Problem) Is(target error) bool {
	for _, k := range kinds {
		if k.is(target) {
			return p.Type == typePrefix+k.code
		}
	}
	return false
}
