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

// readBody reads the body to its end, unless it is too large. A body that is not
// small counts in the caller's account until the request is answered.
func (r *request) readBody() ([]byte, error) {
	r.unread = true
	if r.ContentLength > maxBody {
		return nil, tooLargeBody()
	}
	size := r.ContentLength
	if size < 0 {
		size = maxBody // it comes in chunks: who knows how many
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, min(size, smallBody)+1))
	if err == nil && len(data) > smallBody {
		data, err = r.readLargeBody(data, size)
	}
	switch {
	case len(data) > maxBody:
		return nil, tooLargeBody()
	case errors.Is(err, api.ErrOverloaded):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: the body breaks off after %d bytes: %w", api.ErrBadRequest, len(data), err)
	}
	r.unread = false
	return data, nil
}

func tooLargeBody() error {
	return fmt.Errorf("%w: a body holds at most %d bytes", api.ErrTooLarge, maxBody)
}

// readLargeBody reads the rest of a body of at most size bytes, and one byte more
// if there is one, and returns it with its beginning.
func (r *request) readLargeBody(beginning []byte, size int64) ([]byte, error) {
	if err := r.caller.account.holdBody(size); err != nil {
		return beginning, err
	}
	r.held = size
	body := bytes.NewBuffer(append(make([]byte, 0, size+bytes.MinRead), beginning...))
	_, err := body.ReadFrom(io.LimitReader(r.Body, size+1-int64(len(beginning))))
	return body.Bytes(), err
}

// bare refuses parameters and a body: for requests that take none.
func (r *request) bare() error {
	if _, err := r.query(); err != nil {
		return err
	}
	return r.body(&struct{}{})
}
