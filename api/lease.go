package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/opmint/opmint/keygen"
)

// MaxLease is the most names that one lease can be asked to hold.
const MaxLease = 1 << 20

// LeaseRequest is the body of POST /v1/leases.
type LeaseRequest struct {
	Count uint64 `json:"count"` // 1 to [MaxLease]
}

// Lease is the answer to POST /v1/leases: the right to mint the names of a range
// of seqs in the client's own process, each once.
//
// It is void in a child process: a fork, a checkpoint or a copy of a process that
// holds a lease would mint the same names again.
type Lease struct {
	Class    keygen.Class    `json:"class"`    // h, v or j
	Identity keygen.Identity `json:"identity"` // whose names
	Epoch    uint64          `json:"epoch"`    // under which they are minted
	First    uint64          `json:"first"`    // the lowest seq
	Count    uint64          `json:"count"`    // how many; fewer than asked for at the end of an epoch
	Key      LeaseKey        `json:"key"`      // of the tags

	// ExpiresInMS is how long names may be minted from the lease, in milliseconds
	// from when it was asked for, by the monotonic or the wall clock, whichever
	// comes first. A name may be used for longer.
	ExpiresInMS int64 `json:"expires_in_ms"`
}

// NewLease returns a lease of the given terms as it goes over the wire.
func NewLease(t keygen.Terms, life time.Duration) Lease {
	return Lease{
		Class: t.Class, Identity: t.Identity, Epoch: t.Epoch, First: t.First, Count: t.Count,
		Key: LeaseKey(t.Key), ExpiresInMS: life.Milliseconds(),
	}
}

// Terms returns what [keygen.NewLease] makes the lease's names from.
func (l *Lease) Terms() keygen.Terms {
	return keygen.Terms{
		Class: l.Class, Identity: l.Identity, Epoch: l.Epoch, First: l.First, Count: l.Count, Key: keygen.Key(l.Key),
	}
}

// Life returns how long names may be minted, from when the lease was asked for.
func (l *Lease) Life() time.Duration { return time.Duration(l.ExpiresInMS) * time.Millisecond }

// LeaseKey is a [keygen.Key] that goes over the wire, as base64url without padding.
// It does not print itself, so that no log has it.
type LeaseKey keygen.Key

// Format prints "[lease key]" for every verb.
func (LeaseKey) Format(f fmt.State, _ rune) {
	// A printer's writes do not fail; the printer's caller learns of its errors.
	_, _ = io.WriteString(f, "[lease key]")
}

// MarshalText returns the key's 22 characters.
func (k LeaseKey) MarshalText() ([]byte, error) {
	return base64.RawURLEncoding.AppendEncode(nil, k[:]), nil
}

// UnmarshalText accepts what MarshalText returns. Its errors do not show the key.
func (k *LeaseKey) UnmarshalText(text []byte) error {
	key, err := base64.RawURLEncoding.Strict().DecodeString(string(text))
	if err != nil || len(key) != len(k) || len(text) != base64.RawURLEncoding.EncodedLen(len(k)) {
		return fmt.Errorf("a lease key of %d characters that is not base64url of %d bytes", len(text), len(k))
	}
	copy(k[:], key)
	return nil
}

// Lease asks for a lease of count names, 1 to [MaxLease]. It may hold fewer.
func (c *Client) Lease(ctx context.Context, count uint64) (*Lease, error) {
	body, err := json.Marshal(LeaseRequest{Count: count})
	if err != nil {
		return nil, fmt.Errorf("ask for a lease: %w", err)
	}
	return call[Lease](ctx, c, request{method: "POST", path: "/v1/leases", body: body, repeatable: true})
}
