package api_test

import (
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// lender is a daemon that grants leases and nothing else.
type lender struct {
	class keygen.Class
	life  time.Duration
	gate  chan struct{} // each lease takes one from it; nil: no waiting

	mu     sync.Mutex
	change func(*api.Lease) // what is wrong with the leases, or nil
	asked  []uint64         // the counts, in order
	next   uint64           // the lowest seq nobody has
}

func (l *lender) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked api.LeaseRequest
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.URL.Path != "/v1/leases" {
		http.Error(w, "not here", http.StatusNotFound)
		return
	}
	l.mu.Lock()
	l.asked = append(l.asked, asked.Count)
	granted := api.NewLease(keygen.Terms{
		Class: l.class, Identity: testTerms.Identity, Epoch: 1, First: l.next, Count: asked.Count,
	}, l.life)
	l.next += asked.Count
	if l.change != nil {
		l.change(&granted)
	}
	l.mu.Unlock()
	if l.gate != nil {
		<-l.gate
	}
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(granted)
}

func (l *lender) setChange(change func(*api.Lease)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.change = change
}

func (l *lender) counts() []uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]uint64{}, l.asked...)
}

// minter starts the lender and returns a Minter of it, and the Minter's clock.
func (l *lender) minter(t *testing.T) (*api.Minter, *api.Clock) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	web := http.Server{Handler: l}
	go web.Serve(listener)
	t.Cleanup(func() { web.Close() })
	m := (&api.Client{Socket: socket}).Minter()
	t.Cleanup(m.Close)
	clock := &api.Clock{Time: api.Time{Monotonic: time.Hour, Wall: 1000 * time.Hour, Ticks: 1 << 50}}
	m.Follow(clock)
	return m, clock
}
