package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// problemType is the media type of a [Problem].
const problemType = "application/problem+json"

// Limits of what a client reads into memory, in bytes.
const (
	maxProblem = 1 << 20
	maxAnswer  = 1 << 28 // a million names are 61 million
)

// request is what a Client asks for.
type request struct {
	method, path string
	query        url.Values
	accept       string // empty means JSON
	body         []byte // JSON; nil means none
	repeatable   bool   // to do it twice is no harm
	owned        bool   // it is about what belongs to a user
}

// call sends r and reads its answer.
func call[T any](ctx context.Context, c *Client, r request) (*T, error) {
	body, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	// An answer that is not read to its end costs the connection.
	data, err := io.ReadAll(io.LimitReader(body, maxAnswer))
	result := new(T)
	if err == nil {
		err = json.Unmarshal(data, result)
	}
	if err != nil {
		return nil, fmt.Errorf("read the answer to %s %s: %w", r.method, r.path, err)
	}
	return result, nil
}

// send sends r and returns the body of its answer, which the caller closes. An
// answer that is no success is an error.
func (c *Client) send(ctx context.Context, r request) (io.ReadCloser, error) {
	c.once.Do(c.open)
	if c.wrong != nil {
		return nil, fmt.Errorf("ask opmintd: %w", c.wrong)
	}
	w := watch(ctx)
	req, err := http.NewRequestWithContext(w.ctx, r.method, c.target(r), bytes.NewReader(r.body))
	if err != nil {
		w.end()
		return nil, fmt.Errorf("prepare %s %s: %w", r.method, r.path, err)
	}
	if len(r.body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	if r.repeatable {
		// Tells the transport, and not the daemon, that it may send the request
		// again when a kept connection turns out to be dead.
		req.Header["Idempotency-Key"] = nil
	}
	answer, err := c.http.Do(req)
	if err != nil {
		w.end()
		return nil, c.explain(err)
	}
	body := &answerBody{answer.Body, c, w}
	if answer.StatusCode/100 != 2 {
		defer body.Close()
		return nil, c.refusal(answer, body)
	}
	return body, nil
}

// target returns the URL of a request. Its host is made up.
func (c *Client) target(r request) string {
	query := r.query
	if r.owned && c.Owner != nil {
		query = url.Values{"uid": {strconv.FormatUint(uint64(*c.Owner), 10)}}
		maps.Copy(query, r.query)
	}
	target := "http://opmint" + r.path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	return target
}

// open prepares c for its first request.
func (c *Client) open() {
	c.socket = c.Socket
	if c.socket == "" {
		c.socket = ClientSocket()
	}
	var dialer net.Dialer
	c.wrong = CheckSocket(c.socket)
	c.http.Transport = &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", c.socket)
		},
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     time.Minute,
		DisableCompression:  true,
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
}

// refusal reads the problem in an answer.
func (c *Client) refusal(answer *http.Response, body io.Reader) error {
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	data, err := io.ReadAll(io.LimitReader(body, maxProblem))
	if errors.Is(err, ErrUnanswered) {
		return err
	}
	p := new(Problem)
	if kind != problemType || err != nil || json.Unmarshal(data, p) != nil {
		return fmt.Errorf("%s answered %s, and not as opmintd does: %.80q", c.socket, answer.Status, bytes.TrimSpace(data))
	}
	p.Status = answer.StatusCode
	if seconds, err := strconv.ParseUint(answer.Header.Get("Retry-After"), 10, 31); err == nil {
		p.RetryAfter = time.Duration(seconds) * time.Second
	}
	return fmt.Errorf("opmintd: %w", p)
}
