package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/opmint/opmint/keygen"
)

// Client talks to a daemon. The zero Client is ready to use; it is safe for
// concurrent use and keeps connections open between requests. It must not be
// copied after its first use.
//
// Each method returns a [*Problem] for what the daemon refused, [ErrNoDaemon]
// when there is none, [ErrUnanswered] when it went away or says nothing for 65
// seconds, [ErrOverloaded] when it has no room for another connection, and errors of
// the connection otherwise; all are wrapped.
type Client struct {
	// Socket is the path of the daemon's socket. Empty means what
	// [ClientSocket] says at the first request.
	Socket string

	// Owner is the uid of the user whose intents, streams, operations and events are
	// meant; nil means the caller's own. Another's are for root.
	Owner *uint32

	once   sync.Once
	socket string
	wrong  error // with the socket's path
	http   http.Client
}

// MintRequest says what names to mint. The zero MintRequest is one name in
// native format.
type MintRequest struct {
	Count  int           // 1 to [MaxNames]; 0 means 1
	Format keygen.Format // empty means native
}

func (r MintRequest) query() url.Values {
	q := url.Values{}
	if r.Count != 0 {
		q.Set("count", strconv.Itoa(r.Count))
	}
	if r.Format != "" {
		q.Set("format", string(r.Format))
	}
	return q
}

// Mint mints names and returns them all. For many names see [Client.MintTo].
func (c *Client) Mint(ctx context.Context, r MintRequest) (*Names, error) {
	return call[Names](ctx, c, request{method: "POST", path: "/v1/names", query: r.query(), repeatable: true})
}

// MintTo mints names and writes them to w as they come, one a line. On an error
// names may have been written; they are the caller's, and fewer than asked for.
func (c *Client) MintTo(ctx context.Context, w io.Writer, r MintRequest) error {
	body, err := c.send(ctx, request{
		method: "POST", path: "/v1/names", query: r.query(), accept: "text/plain", repeatable: true,
	})
	if err != nil {
		return err
	}
	defer body.Close()
	if _, err := io.Copy(w, body); err != nil {
		return fmt.Errorf("mint names, part of them written: %w", err)
	}
	return nil
}

// Relay makes a request that has no body and writes its answer to w as it comes,
// byte for byte: for programs that pass it on. The target is the path with its
// query, such as /v1/names?count=3. On an error part of the answer may have been
// written.
func (c *Client) Relay(ctx context.Context, w io.Writer, method, target string) error {
	body, err := c.send(ctx, request{method: method, path: target})
	if err != nil {
		return err
	}
	defer body.Close()
	if _, err := io.Copy(w, body); err != nil {
		return fmt.Errorf("pass on the answer to %s %s: %w", method, target, err)
	}
	return nil
}

// Name returns what a name says and what the daemon knows of it.
func (c *Client) Name(ctx context.Context, name keygen.Name) (*NameInfo, error) {
	return call[NameInfo](ctx, c, request{method: "GET", path: "/v1/names/" + url.PathEscape(name.String())})
}

// Identity returns whose names the daemon mints.
func (c *Client) Identity(ctx context.Context) (*Identity, error) {
	return call[Identity](ctx, c, request{method: "GET", path: "/v1/identity"})
}

// Renew makes the daemon mint under a new identity, which costs a write to the
// TPM, and returns it. It is for root and the daemon's own user.
func (c *Client) Renew(ctx context.Context) (*Identity, error) {
	return call[Identity](ctx, c, request{method: "POST", path: "/v1/identity/renew"})
}

// Health returns who answers.
func (c *Client) Health(ctx context.Context) (*Health, error) {
	return call[Health](ctx, c, request{method: "GET", path: "/v1/healthz"})
}

// Ready asks whether the daemon can mint; the error says why not.
func (c *Client) Ready(ctx context.Context) (*Readiness, error) {
	return call[Readiness](ctx, c, request{method: "GET", path: "/v1/readyz"})
}
