package server

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/opmint/opmint/api"
)

// route ties a method and a path to what answers there.
type route struct {
	method   string
	path     string // a segment in braces stands for any, and becomes a variable
	handle   handler
	wears    bool // uses up the TPM: in class h for root and the daemon's own user only
	segments []string
}

// handler reads a request, touching nothing, and returns what is to be done if
// its caller may.
type handler func(*request) (action, error)

// action does what was asked and answers. An error before it answered becomes a
// problem; one after that cuts the connection.
type action func(*answer) error

// table lists what is there.
func (s *Server) table() []route {
	routes := []route{
		{method: "POST", path: "/v1/names", handle: s.mint},
		{method: "POST", path: "/v1/leases", handle: s.lend},
		{method: "GET", path: "/v1/names/{name}", handle: s.name},
		{method: "PUT", path: "/v1/intents/{intent}", handle: s.nameIntent},
		{method: "GET", path: "/v1/intents/{intent}", handle: s.intent},
		{method: "DELETE", path: "/v1/intents/{intent}", handle: s.deleteIntent},
		{method: "PUT", path: "/v1/streams/{stream}/names/{intent}", handle: s.nameInStream},
		{method: "DELETE", path: "/v1/streams/{stream}/seqs/{seq}", handle: s.voidSeq},
		{method: "POST", path: "/v1/streams/{stream}/acked", handle: s.acked},
		{method: "POST", path: "/v1/streams/{stream}/edition", handle: s.newEdition},
		{method: "PUT", path: "/v1/operations/{scope}/{name}", handle: s.beginOperation},
		{method: "GET", path: "/v1/operations/{scope}/{name}", handle: s.operation},
		{method: "POST", path: "/v1/operations/{scope}/{name}/extend", handle: s.extendOperation},
		{method: "POST", path: "/v1/operations/{scope}/{name}/finish", handle: s.finishOperation},
		{method: "POST", path: "/v1/operations/{scope}/{name}/settle", handle: s.settleOperation},
		{method: "POST", path: "/v1/operations/{scope}", handle: s.absorb},
		{method: "GET", path: "/v1/operations/{scope}", handle: s.operations},
		{method: "PUT", path: "/v1/scopes/{scope}", handle: s.setScope},
		{method: "GET", path: "/v1/scopes/{scope}", handle: s.scope},
		{method: "POST", path: "/v1/ledger/accept", handle: s.acceptLedger},
		{method: "GET", path: "/v1/log", handle: s.events},
		{method: "GET", path: "/v1/identity", handle: s.identity},
		{method: "POST", path: "/v1/identity/renew", handle: s.renew, wears: true},
		{method: "GET", path: "/v1/healthz", handle: s.health},
		{method: "GET", path: "/v1/readyz", handle: s.ready},
		{method: "GET", path: "/metrics", handle: s.metrics},
	}
	for i := range routes {
		routes[i].segments = strings.Split(routes[i].path[1:], "/")
	}
	return routes
}

// find returns the route of a request and sets the request's variables. Where
// there is none for its method it returns those that there are.
func (s *Server) find(r *request) (found *route, allowed []string, err error) {
	path, err := splitPath(r.segments[:0], r.RequestURI)
	if err != nil {
		return nil, nil, err
	}
	for i := range s.routes {
		route := &s.routes[i]
		if !route.matches(path) {
			continue
		}
		if route.method == r.Method || route.method == http.MethodGet && r.Method == http.MethodHead {
			r.variables = route.variables(path)
			return route, nil, nil
		}
		allowed = append(allowed, route.method)
		if route.method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	if len(allowed) == 0 {
		return nil, nil, fmt.Errorf("%w: there is no %.200s", api.ErrNotFound, r.RequestURI)
	}
	return nil, allowed, fmt.Errorf("%w: %.20s: here it is %v", api.ErrMethodNotAllowed, r.Method, allowed)
}

func isVariable(segment string) bool { return segment[0] == '{' }

func (r *route) matches(path []string) bool {
	if len(path) != len(r.segments) {
		return false
	}
	for i, segment := range r.segments {
		if !isVariable(segment) && segment != path[i] {
			return false
		}
	}
	return true
}

func (r *route) variables(path []string) (values []string) {
	for i, segment := range r.segments {
		if isVariable(segment) {
			values = append(values, path[i])
		}
	}
	return values
}

// splitPath appends the decoded segments of a request's target to segments. Each
// holds what the client put there, be it "..", a slash or a space.
func splitPath(segments []string, target string) ([]string, error) {
	path, _, _ := strings.Cut(target, "?")
	if _, rest, absolute := strings.Cut(path, "://"); absolute && path[0] != '/' {
		// A client that takes us for a proxy names the host as well.
		slash := strings.IndexByte(rest, '/')
		path = rest[max(slash, 0):]
	}
	if path == "/" {
		return segments, nil
	}
	rest, ok := strings.CutPrefix(path, "/")
	if !ok {
		return nil, fmt.Errorf("%w: %.200q is no path", api.ErrBadRequest, target)
	}
	for raw := range strings.SplitSeq(rest, "/") {
		segment, err := url.PathUnescape(raw)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: path segment %.200q: %w", api.ErrBadRequest, raw, err)
		case segment == "":
			return nil, fmt.Errorf("%w: the path has an empty segment", api.ErrBadRequest)
		case !utf8.ValidString(segment):
			return nil, fmt.Errorf("%w: path segment %.200q is not UTF-8", api.ErrBadRequest, raw)
		}
		segments = append(segments, segment)
	}
	return segments, nil
}
