package examples_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// receiver is a service that remembers under which names it did what, and answers a
// repeat without doing it again.
type receiver struct {
	t *testing.T

	mu      sync.Mutex
	answers map[string]int // status, by name
	done    []string       // what was done, in order
	refuses string         // what it does not do, such as "POST /car"
	loses   map[string]int // how many answers to come are lost, of such a request
}

// receive starts a receiver in the place where the examples look. It refuses one kind
// of request, and the first answers to others are lost.
func receive(t *testing.T, refuses string, loses ...string) *receiver {
	r := &receiver{t: t, answers: map[string]int{}, refuses: refuses, loses: map[string]int{}}
	for _, what := range loses {
		r.loses[what]++
	}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	t.Setenv("RECEIVER", server.URL)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	name, what := request.Header.Get("Idempotency-Key"), request.Method+" "+request.URL.Path
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil || name == "" {
		r.t.Errorf("%s with name %q: %v", what, name, err)
	}
	if _, known := r.answers[name]; !known {
		r.answers[name] = http.StatusOK
		if what == r.refuses {
			r.answers[name] = http.StatusConflict
		} else {
			r.done = append(r.done, strings.TrimSpace(fmt.Sprint(what, " ", string(body))))
		}
	}
	if r.loses[what] > 0 {
		r.loses[what]--
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(r.answers[name])
}

// hasDone fails the test unless just that was done, as far as it is said here.
func (r *receiver) hasDone(want ...string) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.EqualFunc(r.done, want, strings.HasPrefix) {
		r.t.Errorf("done is %q, want %q", r.done, want)
	}
}
