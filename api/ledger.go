package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/opmint/opmint/ledger"
)

var _ ledger.Ledger = (*Client)(nil)

// Begin implements [ledger.Ledger].
func (c *Client) Begin(ctx context.Context, r ledger.Ref, a ledger.Attempt) (ledger.Operation, error) {
	return c.operate(ctx, "PUT", operationPath(r), BeginRequest{
		Holder: a.Holder, Fingerprint: a.Fingerprint, Lease: Duration(a.Lease), Orphan: a.Orphan,
	})
}

// Extend implements [ledger.Ledger].
func (c *Client) Extend(ctx context.Context, r ledger.Ref, h ledger.Hold, lease time.Duration) (ledger.Operation, error) {
	return c.operate(ctx, "POST", operationPath(r)+"/extend", ExtendRequest{
		Holder: h.Holder, Fence: h.Fence, Lease: Duration(lease),
	})
}

// Finish implements [ledger.Ledger].
func (c *Client) Finish(
	ctx context.Context, r ledger.Ref, h ledger.Hold, outcome ledger.State, result *ledger.Result,
) (ledger.Operation, error) {
	return c.operate(ctx, "POST", operationPath(r)+"/finish", FinishRequest{
		Holder: h.Holder, Fence: h.Fence, Outcome: outcome, Result: sendable(result),
	})
}

// Settle implements [ledger.Ledger].
func (c *Client) Settle(
	ctx context.Context, r ledger.Ref, outcome ledger.State, result *ledger.Result,
) (ledger.Operation, error) {
	return c.operate(ctx, "POST", operationPath(r)+"/settle", SettleRequest{Outcome: outcome, Result: sendable(result)})
}

// Lookup implements [ledger.Ledger].
func (c *Client) Lookup(ctx context.Context, r ledger.Ref) (ledger.Operation, error) {
	return c.operate(ctx, "GET", operationPath(r), nil)
}

// List implements [ledger.Ledger].
func (c *Client) List(ctx context.Context, scope string, o ledger.ListOptions) (ledger.Page, error) {
	query := url.Values{}
	if o.State != "" {
		query.Set("state", string(o.State))
	}
	if o.After != "" {
		query.Set("after", o.After)
	}
	if o.Limit != 0 {
		query.Set("limit", strconv.Itoa(o.Limit))
	}
	r := request{method: "GET", path: "/v1/operations/" + url.PathEscape(scope), query: query}
	told, err := ask[Operations](ctx, c, r, nil)
	if err != nil {
		return ledger.Page{}, err
	}
	page := ledger.Page{Next: told.Next}
	for _, o := range told.Operations {
		page.Operations = append(page.Operations, o.Ledger())
	}
	return page, nil
}

// Absorb implements [ledger.Ledger].
func (c *Client) Absorb(ctx context.Context, scope string, items []ledger.Item) ([]ledger.Verdict, error) {
	body := AbsorbRequest{Names: make([]AbsorbName, len(items))}
	for i, item := range items {
		body.Names[i] = AbsorbName(item)
	}
	r := request{method: "POST", path: "/v1/operations/" + url.PathEscape(scope)}
	told, err := ask[Absorbed](ctx, c, r, body)
	if err != nil {
		return nil, err
	}
	if len(told.Results) != len(items) {
		return nil, fmt.Errorf("%w: %d results for %d names", ledger.ErrUnavailable, len(told.Results), len(items))
	}
	return told.Results, nil
}

// Scope implements [ledger.Ledger].
func (c *Client) Scope(ctx context.Context, name string) (ledger.Scope, error) {
	return c.scope(ctx, "GET", name, nil)
}

// SetHorizon implements [ledger.Ledger]. That of a shared scope is for root and the
// daemon's own user to change.
func (c *Client) SetHorizon(ctx context.Context, name string, horizon time.Duration) (ledger.Scope, error) {
	return c.scope(ctx, "PUT", name, ScopeRequest{Duration(horizon)})
}

// AcceptLedger takes a suspect ledger as it is: names that it has not seen are run
// again. It is for root and the daemon's own user.
func (c *Client) AcceptLedger(ctx context.Context) error {
	return ledgerError(ctx, c.tell(ctx, request{method: "POST", path: "/v1/ledger/accept", repeatable: true}))
}

func (c *Client) scope(ctx context.Context, method, name string, body any) (ledger.Scope, error) {
	told, err := ask[Scope](ctx, c, request{method: method, path: "/v1/scopes/" + url.PathEscape(name)}, body)
	if err != nil {
		return ledger.Scope{}, err
	}
	return told.Ledger(), nil
}

// operate asks for what is answered with an operation.
func (c *Client) operate(ctx context.Context, method, path string, body any) (ledger.Operation, error) {
	told, err := ask[Operation](ctx, c, request{method: method, path: path}, body)
	if err != nil {
		return ledger.Operation{}, err
	}
	return told.Ledger(), nil
}

// ask asks the ledger. All that can be asked of it can be repeated. The texts of a
// body that has some are checked.
func ask[T any](ctx context.Context, c *Client, r request, body any) (*T, error) {
	r.repeatable, r.owned = true, true
	if body != nil {
		if t, ok := body.(interface{ texts() []string }); ok {
			if err := checkText(t.texts()...); err != nil {
				return nil, err
			}
		}
		var err error
		if r.body, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("ask the ledger: %w", err)
		}
	}
	told, err := call[T](ctx, c, r)
	return told, ledgerError(ctx, err)
}

// checkText says which of the texts JSON cannot carry: what is not UTF-8, of which
// encoding/json would make one text of many.
func checkText(texts ...string) error {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return &ledger.Refusal{Reason: ledger.ErrInvalid, Detail: fmt.Sprintf("%.80q is not UTF-8", text)}
		}
	}
	return nil
}

func operationPath(r ledger.Ref) string {
	return "/v1/operations/" + url.PathEscape(r.Scope) + "/" + url.PathEscape(r.Name)
}
