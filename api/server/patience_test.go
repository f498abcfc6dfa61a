package server

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opmint/opmint/keygen"
)

// hurried is a counter whose second claim never comes, and a source of randomness
// during whose use others take all names of the epoch.
type hurried struct {
	minter *keygen.Minter
	claims int
}

func (h *hurried) Next(ctx context.Context) (uint64, error) {
	if h.claims++; h.claims == 1 {
		return 1, nil
	}
	<-ctx.Done()
	return 0, ctx.Err()
}

func (h *hurried) Read(b []byte) (int, error) {
	if m := h.minter; m != nil {
		h.minter = nil
		if _, err := m.Lease(context.Background(), m.Left()); err != nil {
			return 0, err
		}
	}
	return rand.Read(b)
}

// TestClaimOfAnEpochThatJustRanOut: a claim is bounded also where there were names
// left when the request came, and the client is given the time that it takes.
func TestClaimOfAnEpochThatJustRanOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(hurried)
		m, err := keygen.NewMinter(t.Context(), keygen.MinterConfig{
			Class: keygen.ClassH, Identity: testIdentity, Counter: h, Random: h, NamesPerEpoch: 100,
		})
		if err != nil {
			t.Fatal(err)
		}
		h.minter = m
		s := New(Config{Minter: m, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), NamesPerEpoch: 100})
		w := &deadlines{httptest.NewRecorder(), func() {}, nil}
		s.ServeHTTP(w, requestAs(caller{}, "POST", "/v1/names", "*/*"))
		if w.Code != 503 || h.claims != 2 {
			t.Errorf("status %d after %d claims", w.Code, h.claims)
		}
		// One for the claim, one for the refusal.
		if want := []time.Duration{sourceTime + writeTime, writeTime}; !slices.Equal(w.set, want) {
			t.Errorf("deadlines ahead: %v, want %v", w.set, want)
		}
	})
}
