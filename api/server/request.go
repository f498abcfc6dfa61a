package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/opmint/opmint/api"
)

// request is what a handler reads.
type request struct {
	*http.Request
	segments  [5]string // room for those of the path
	variables []string  // of the path, decoded, in order
	caller    caller
	refusal   error // why the caller may not make it, however sound it is
	unread    bool  // the body was not read to its end
	held      int64 // bytes of the body that count in the caller's account
}

// about returns what a line in the log says of the request.
func (r *request) about() []any {
	method, target := fmt.Sprintf("%.20s", r.Method), fmt.Sprintf("%.200s", r.RequestURI)
	return []any{"uid", r.caller.uid, "method", method, "target", target}
}

// query returns the parameters of the URL. Those that are not among the known
// ones, and those that stand there twice, are refused.
func (r *request) query(known ...string) (url.Values, error) {
	if r.URL.RawQuery == "" {
		return nil, nil
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("%w: query: %w", api.ErrBadRequest, err)
	}
	for name, all := range values {
		if len(known) == 0 {
			return nil, fmt.Errorf("%w: parameter %.40q: this request takes none", api.ErrBadRequest, name)
		}
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%w: unknown parameter %.40q: there are %q", api.ErrBadRequest, name, known)
		}
		if len(all) > 1 {
			return nil, fmt.Errorf("%w: parameter %s stands there %d times", api.ErrBadRequest, name, len(all))
		}
	}
	return values, nil
}

// number reads a parameter of 1 to most, in digits, of which the first is not 0;
// one that is absent is 1.
func number(values url.Values, name string, most uint64) (uint64, error) {
	if !values.Has(name) {
		return 1, nil
	}
	text := values.Get(name)
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < 1 || n > most || strconv.FormatUint(n, 10) != text {
		return 0, fmt.Errorf("%w: %s %.40q: a number from 1 to %d", api.ErrBadRequest, name, text, most)
	}
	return n, nil
}
