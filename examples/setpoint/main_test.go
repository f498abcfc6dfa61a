package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opmint/opmint/keygen"
)

// coil is a receiver that knows which steps it has applied. It loses the first
// answers, and says when it has answered.
type coil struct {
	t        *testing.T
	names    map[string]bool
	applied  []string
	loses    int
	answered chan time.Time
}

func (c *coil) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != "PUT" || r.URL.Path != "/coils/7" {
		c.t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
	if name := r.Header.Get("Idempotency-Key"); !c.names[name] {
		c.names[name] = true
		c.applied = append(c.applied, string(body))
	}
	if c.loses > 0 {
		c.loses--
		panic(http.ErrAbortHandler)
	}
	c.answered <- time.Time{} // the next step is due
}

// TestSetpoint: each step is applied once, by a program that is started again, as on
// a machine that was reverted.
func TestSetpoint(t *testing.T) {
	c := &coil{t: t, names: map[string]bool{}, loses: 2, answered: make(chan time.Time, 1)}
	server := httptest.NewServer(c)
	defer server.Close()
	for range 2 {
		s := shot{coil: "7", number: "12", receiver: server.URL, due: c.answered}
		if err := s.run(t.Context(), strings.NewReader("40.0\n40.5\n41.0\n")); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"40.0", "40.5", "41.0"}; !slices.Equal(c.applied, want) {
		t.Errorf("applied %q, want %q", c.applied, want)
	}
	// As `printf 40.5 | opmint semantic coil 7 shot 12 step 1 --payload -` prints it.
	name, err := keygen.Semantic("coil", "7", "shot", "12", "step", "1",
		"sha256:9aeff0dcfe8245e0ccb3008c5e498a84b795cea44dffba2e6753bc2d12d350d2")
	if err != nil || !c.names[name.String()] {
		t.Errorf("no step has the name %s, %v", name, err)
	}
}

// TestSetpointRefused: a receiver that refuses ends the shot.
func TestSetpointRefused(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	s := shot{coil: "7", number: "12", receiver: server.URL}
	if err := s.run(t.Context(), strings.NewReader("40.0\n")); err == nil || !strings.Contains(err.Error(), "step 0: the receiver answers 404") {
		t.Error(err)
	}
}
