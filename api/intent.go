package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/opmint/opmint/keygen"
)

// IntentRequest is the body of PUT /v1/intents/{intent}. The zero IntentRequest is
// one without a fingerprint that is remembered for the default time.
type IntentRequest struct {
	// Fingerprint is that of the operation's payload. The first who asks says which
	// it is, or that there is none: asked with another, or with none where there is
	// one, or with one where there is none, the intent is ErrFingerprintMismatch.
	Fingerprint *Fingerprint `json:"fingerprint,omitempty"`

	// Retain is how long the intent is remembered, 1ms to the daemon's horizon; by
	// default 168h, or the horizon where that is shorter. The first who asks says.
	Retain *Duration `json:"retain,omitempty"`
}

// Intent is the answer to PUT and GET /v1/intents/{intent}.
type Intent struct {
	Intent      string       `json:"intent"`                // as it was asked for
	Name        keygen.Name  `json:"name"`                  // the same for everybody who asks
	Fingerprint *Fingerprint `json:"fingerprint,omitempty"` // absent: none
	Created     time.Time    `json:"created"`               // when it was named, in UTC
	Expires     time.Time    `json:"expires"`               // until when it is remembered at least
	Replayed    bool         `json:"replayed"`              // it was known

	// MemorySince is since when the daemon's memory is unbroken, as far as it knows.
	// An intent that was named before may be forgotten, and would get a new name.
	MemorySince time.Time `json:"memory_since"`
}

// NameIntent returns the name of an intent, of 1 to 512 bytes of UTF-8: it is given
// one if it is new, and it is the same one for everybody who asks, before and after
// restarts of all. Intents are each user's own. It is ErrExpired if the intent was
// forgotten, ErrFingerprintMismatch if it is known with another fingerprint, and
// ErrOverloaded if you have too many.
func (c *Client) NameIntent(ctx context.Context, intent string, r IntentRequest) (*Intent, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("ask for an intent: %w", err)
	}
	return call[Intent](ctx, c, request{method: "PUT", path: intentPath(intent), body: body, repeatable: true, owned: true})
}

// Intent returns what is known of an intent: ErrNotFound if it is nothing,
// ErrExpired if it was forgotten.
func (c *Client) Intent(ctx context.Context, intent string) (*Intent, error) {
	return call[Intent](ctx, c, request{method: "GET", path: intentPath(intent), owned: true})
}

// DeleteIntent forgets an intent: asked for again it is a new one, with a new name.
// That is for an operation that is over and is to be done anew.
func (c *Client) DeleteIntent(ctx context.Context, intent string) error {
	return c.tell(ctx, request{method: "DELETE", path: intentPath(intent), owned: true})
}

func intentPath(intent string) string { return "/v1/intents/" + url.PathEscape(intent) }

// tell sends a request whose answer says nothing.
func (c *Client) tell(ctx context.Context, r request) error {
	body, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	return body.Close()
}
