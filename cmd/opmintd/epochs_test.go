package main

import (
	"context"
	"testing"
	"time"
)

// TestClaimsRemembered has more claims than are remembered.
func TestClaimsRemembered(t *testing.T) {
	first, second := origin{minter: minter{1}}, origin{minter: minter{2}}
	c := &claims{last: first}
	const last = maxClaims + 10
	for epoch := uint64(1); epoch <= last; epoch++ {
		ctx := t.Context()
		if epoch == last {
			ctx = context.WithValue(ctx, originKey{}, second)
		}
		c.add(ctx, epoch)
	}
	if len(c.list) != maxClaims || c.current() != second {
		t.Errorf("%d claims, the last for %x", len(c.list), c.current())
	}
	for _, q := range []struct {
		origin origin
		epoch  uint64
		known  bool
	}{
		{first, 10, false}, {first, 11, true}, {first, last - 1, true}, {first, last, false},
		{second, last, true}, {second, last - 1, false}, {second, last + 1, false},
	} {
		made, known := c.find(q.origin.identity(), q.epoch)
		if known != q.known || known && (made.origin != q.origin || time.Since(made.at) > time.Hour) {
			t.Errorf("epoch %d of %x: %+v, %v, want %v", q.epoch, q.origin.minter, made, known, q.known)
		}
	}
}
