package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/opmint/opmint/ledger"
)

// MaxLogWait is how long one request for events can wait for the next.
const MaxLogWait = 30 * time.Second

// maxEvent is the most bytes of an event, which tells of 1,000 operations at most.
const maxEvent = 16 << 20

// LogRequest says which events of the ledger's log. The zero LogRequest is all that
// there are.
type LogRequest struct {
	After uint64        // only events with a higher number
	Wait  time.Duration // where there is none yet, wait so long for the next, 0 to [MaxLogWait]
}

// Log passes the caller's events to each, in their order, until there are no more:
// those of his own scopes and of all that are shared; for root, of everybody unless
// Owner is set. It stops at the first error of each. An [ledger.Verifier] says
// whether something is missing between them.
func (c *Client) Log(ctx context.Context, r LogRequest, each func(ledger.Event) error) error {
	query := url.Values{"after": {strconv.FormatUint(r.After, 10)}}
	if r.Wait > 0 {
		query.Set("wait", r.Wait.String())
	}
	body, err := c.send(ctx, request{method: "GET", path: "/v1/log", query: query, repeatable: true, owned: true})
	if err != nil {
		return ledgerError(ctx, err)
	}
	defer body.Close()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		e := ledger.Event{Line: bytes.Clone(lines.Bytes())}
		var numbered struct{ Number uint64 }
		if err := json.Unmarshal(e.Line, &numbered); err != nil {
			return fmt.Errorf("read the log after event %d: %w", r.After, err)
		}
		e.Number, r.After = numbered.Number, numbered.Number
		if err := each(e); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return ledgerError(ctx, fmt.Errorf("read the log after event %d: %w", r.After, err))
	}
	return nil
}
