package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/opmint/opmint/api"
)

// whiteSpace is what may stand around JSON (RFC 8259 section 2).
const whiteSpace = " \t\r\n"

// body reads the request's body, one JSON object, into v. No body, or one of
// nothing but white space, is as good as an empty object. What v has no field for
// is refused.
func (r *request) body(v any) error {
	if r.Body == http.NoBody {
		return nil
	}
	if err := r.beginBody(); err != nil {
		return err
	}
	data, err := r.readBody()
	if err != nil {
		return err
	}
	if !utf8.Valid(data) {
		return fmt.Errorf("%w: the body is not UTF-8", api.ErrBadRequest)
	}
	if data = bytes.TrimLeft(data, whiteSpace); len(data) == 0 {
		return nil
	}
	if data[0] != '{' {
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
		return nil, brokenOff(int64(len(data)), err)
	}
	r.unread = false
	return data, nil
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
	return r.noBody()
}

// noBody refuses a body, but for an empty object, which some clients send when they
// have nothing to say. It holds little of it in memory, however much there is.
func (r *request) noBody() error {
	if r.Body == http.NoBody {
		return nil
	}
	if err := r.beginBody(); err != nil {
		return err
	}
	var part [512]byte
	expected := []byte("{}")
	for read := int64(0); read <= maxBody; {
		n, err := r.Body.Read(part[:])
		read += int64(n)
		for _, c := range part[:n] {
			if len(expected) > 0 && c == expected[0] {
				expected = expected[1:]
			} else if bytes.IndexByte([]byte(whiteSpace), c) < 0 {
				return fmt.Errorf("%w: this request takes no body", api.ErrBadRequest)
			}
		}
		switch {
		case err == io.EOF && len(expected) == 1:
			return brokenOff(read, io.ErrUnexpectedEOF)
		case err == io.EOF:
			r.unread = false
			return nil
		case err != nil:
			return brokenOff(read, err)
		}
	}
	return tooLargeBody()
}

// beginBody says whether the body is worth reading. That of a caller who may not
// make the request is not.
func (r *request) beginBody() error {
	r.unread = true
	if r.refusal != nil {
		return r.refusal
	}
	if r.ContentLength > maxBody {
		return tooLargeBody()
	}
	return nil
}

func tooLargeBody() error {
	return fmt.Errorf("%w: a body holds at most %d bytes", api.ErrTooLarge, maxBody)
}

func brokenOff(after int64, err error) error {
	return fmt.Errorf("%w: the body breaks off after %d bytes: %w", api.ErrBadRequest, after, err)
}
