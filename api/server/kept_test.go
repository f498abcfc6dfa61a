package server

import (
	"io"
	"testing"
	"time"

	"github.com/opmint/opmint/keygen"
)

// TestClientsLeave: whoever waits for something in the middle of a request learns
// that its client has gone, on a new connection and on a kept one.
func TestClientsLeave(t *testing.T) {
	var noticed chan error
	wait := func(s *Server) {
		noticed = make(chan error)
		s.routes = append(s.routes, route{method: "GET", segments: []string{"wait"}, handle: func(r *request) (action, error) {
			return func(*answer) error {
				<-r.Context().Done()
				noticed <- r.Context().Err()
				return r.Context().Err()
			}, nil
		}})
	}
	for _, kept := range []int{0, 1, 10} {
		inBubble(t, keygen.ClassH, wait, func(t *testing.T, p *pipes) {
			c := p.dial(1000)
			for range kept {
				if answer := p.request(c, post("/v1/names")); answer.StatusCode != 201 {
					t.Fatal(answer.Status)
				}
				time.Sleep(time.Second)
			}
			if _, err := io.WriteString(c, get("/wait")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour) // it is patient
			before := time.Now()
			c.Close()
			if err := <-noticed; err == nil || time.Since(before) != 0 {
				t.Errorf("kept %d: %v after %v", kept, err, time.Since(before))
			}
		})
	}
}

// TestKeptConnectionsAreCutOff: the times of a connection begin anew with each of
// its requests.
func TestKeptConnectionsAreCutOff(t *testing.T) {
	for _, s := range stalls {
		inBubble(t, keygen.ClassH, func(*Server) {}, func(t *testing.T, p *pipes) {
			c := p.dial(1000)
			for range 5 {
				if answer := p.request(c, post("/v1/names")); answer.StatusCode != 201 {
					t.Fatal(answer.Status)
				}
				time.Sleep(idleTime - time.Second)
			}
			want := s.after
			if s.sent == "" {
				want = time.Second // of the time between requests
			}
			before := time.Now()
			if _, err := io.WriteString(c, s.sent); err != nil {
				t.Fatal(err)
			}
			wait(c, s.writes)
			if at := time.Since(before); at < want || at > want+lingerTime {
				t.Errorf("%s: cut off after %v, want %v", s.name, at, want)
			}
			c.Close()
		})
	}
}
