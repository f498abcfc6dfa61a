package server

import (
	"testing"
	"time"

	"github.com/opmint/opmint/ledger"
	"github.com/opmint/opmint/store"
)

// clock is the clock of a daemon in small. Its wall clock shows what the other does.
type clock struct{ *source }

func (c clock) Boot() time.Duration { return time.Duration(c.boot.Load()) }

func (c clock) Wall() time.Time { return time.Unix(1_900_000_000, 0).Add(c.Boot()) }

// newLedger returns the ledger of a daemon in small.
func newLedger(t testing.TB, src *source, s store.Store) *ledger.Keeper {
	t.Helper()
	k, err := ledger.Open(t.Context(), s, ledger.Config{Clock: clock{src}, Horizon: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// keeps lets a server's ledger know operations of the scope pay: one that is gone, and
// others in all states, with tests' holder h and fence 1.
func (src *source) keeps(t testing.TB, s *Server) {
	t.Helper()
	begin, end := `{"holder":"h","lease":"1m"}`, `{"holder":"h","fence":1,"outcome":"applied","result":{"status":201,"body":"ok"}}`
	for _, sent := range []soundRequest{
		{"PUT", "", "/v1/operations/pay/gone", "", begin},
		{"POST", "", "/v1/operations/pay/gone/finish", "", end},
		{"PUT", "", "/v1/operations/pay/lapsed", "", begin},
		{},
		{"PUT", "", "/v1/operations/pay/held", "", begin},
		{"PUT", "", "/v1/operations/pay/applied", "", `{"holder":"h","fingerprint":"` + testFingerprint + `"}`},
		{"POST", "", "/v1/operations/pay/applied/finish", "", end},
	} {
		if sent == (soundRequest{}) {
			src.boot.Add(int64(2 * time.Hour))
			continue
		}
		if answer := s.serve(sent.request()); answer.StatusCode/100 != 2 {
			t.Fatalf("%+v: %s", sent, answer.Status)
		}
	}
}
