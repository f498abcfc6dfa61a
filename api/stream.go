package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"github.com/opmint/opmint/keygen"
)

// StreamName is the answer to PUT /v1/streams/{stream}/names/{intent}.
type StreamName struct {
	Stream   string         `json:"stream"`   // as it was asked for
	Edition  keygen.Edition `json:"edition"`  // the life of the stream that the number is told in
	Seq      uint64         `json:"seq"`      // of the intent in the stream, dense from 0
	Name     keygen.Name    `json:"name"`     // like the seq, the same for everybody who asks
	Base     uint64         `json:"base"`     // the lowest seq that is not acked
	Replayed bool           `json:"replayed"` // the intent was known

	// Void says that the seq was declared void, and is never to be run.
	Void bool `json:"void,omitempty"`
}

// AckRequest is the body of POST /v1/streams/{stream}/acked.
type AckRequest struct {
	Below *uint64 `json:"below"` // all seqs below have ended at the receiver
}

// EditionRequest is the body of POST /v1/streams/{stream}/edition.
type EditionRequest struct {
	Above *keygen.Edition `json:"above,omitempty"` // the edition that the receiver knows
}

// Edition is the answer to POST /v1/streams/{stream}/edition.
type Edition struct {
	Stream  string         `json:"stream"`  // as it was asked for
	Edition keygen.Edition `json:"edition"` // the new one
	Base    uint64         `json:"base"`    // the lowest seq that is not acked
}

// NameInStream returns the number and the name of an intent in a stream, of 1 to
// 128 bytes of UTF-8; both are the same for everybody who asks. An intent in a
// stream has nothing to do with one of the same text elsewhere. Errors are those of
// [Client.NameIntent].
func (c *Client) NameInStream(ctx context.Context, stream, intent string) (*StreamName, error) {
	path := streamPath(stream) + "/names/" + url.PathEscape(intent)
	return call[StreamName](ctx, c, request{method: "PUT", path: path, repeatable: true, owned: true})
}

// VoidSeq declares that a seq of a stream is never to be run; the receiver is to be
// told. It is ErrExpired if the seq was acked before, and so may have been run.
func (c *Client) VoidSeq(ctx context.Context, stream string, seq uint64) error {
	path := streamPath(stream) + "/seqs/" + strconv.FormatUint(seq, 10)
	return c.tell(ctx, request{method: "DELETE", path: path, owned: true})
}

// Ack says that all seqs below a number have ended at the receiver.
func (c *Client) Ack(ctx context.Context, stream string, below uint64) error {
	body, err := json.Marshal(AckRequest{&below})
	if err != nil {
		return fmt.Errorf("ack: %w", err)
	}
	return c.tell(ctx, request{method: "POST", path: streamPath(stream) + "/acked", body: body, repeatable: true, owned: true})
}

// NewEdition draws a new edition of a stream, above the one that its receiver
// knows; the zero Edition is none. Seqs stay what they are.
func (c *Client) NewEdition(ctx context.Context, stream string, above keygen.Edition) (*Edition, error) {
	var r EditionRequest
	if !above.IsZero() {
		r.Above = &above
	}
	body, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("ask for an edition: %w", err)
	}
	return call[Edition](ctx, c, request{method: "POST", path: streamPath(stream) + "/edition", body: body, owned: true})
}

func streamPath(stream string) string { return "/v1/streams/" + url.PathEscape(stream) }
