package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/opmint/opmint/api"
)

// request is what a handler reads.
type request struct {
	*http.Request
	variables []string // of the path, decoded, in order
	caller    caller
	unread    bool // the body was not read to its end
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

// number reads a parameter of 1 to most, in digits; one that is absent is 1.
func number(values url.Values, name string, most uint64) (uint64, error) {
	if !values.Has(name) {
		return 1, nil
	}
	text := values.Get(name)
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%w: %s %.40q: a number from 1 to %d", api.ErrBadRequest, name, text, most)
	}
	return n, nil
}

// body reads the request's body, one JSON object, into v. No body is as good as
// an empty object. What v has no field for is refused.
func (r *request) body(v any) error {
	if r.Body == http.NoBody {
		return nil
	}
	data, err := r.readBody()
	if err != nil || len(data) == 0 {
		return err
	}
	if !utf8.Valid(data) {
		return fmt.Errorf("%w: the body is not UTF-8", api.ErrBadRequest)
	}
	if data = bytes.TrimLeft(data, " \t\r\n"); !bytes.HasPrefix(data, []byte("{")) {
		return fmt.Errorf("%w: the body is not a JSON object", api.ErrBadRequest)
	}
	if err := unmarshal(data, v); err != nil {
		return fmt.Errorf("%w: the body: %w", api.ErrBadRequest, err)
	}
	return nil
}

// readBody reads the body to its end, unless it is too large.
func (r *request) readBody() ([]byte, error) {
	r.unread = true
	large := fmt.Errorf("%w: a body holds at most %d bytes", api.ErrTooLarge, maxBody)
	if r.ContentLength > maxBody {
		return nil, large
	}
	data, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, large
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the body breaks off after %d bytes: %w", api.ErrBadRequest, len(data), err)
	}
	r.unread = false
	return data, nil
}

// bare refuses parameters and a body: for requests that take none.
func (r *request) bare() error {
	if _, err := r.query(); err != nil {
		return err
	}
	return r.body(&struct{}{})
}
