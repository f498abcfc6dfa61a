package server

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/opmint/opmint/keygen"
)

// TestFaults: a handler that panics is answered as an internal error, without
// what the fault says.
func TestFaults(t *testing.T) {
	s, _ := newServer(t, keygen.ClassH, 0)
	s.Source = nil
	p := wantProblem(t, "a fault", s.serve(requestAs(caller{}, "GET", "/v1/identity", "*/*")), 500, "internal")
	if p.Detail != "internal error" {
		t.Errorf("detail %q", p.Detail)
	}
}

// TestHTTP: what clients of other kinds rely on.
func TestHTTP(t *testing.T) {
	d := startServer(t, 0)
	for sent, want := range map[string][]int{
		post("/v1/names") + post("/v1/names?count=0") + get("/v1/healthz"):   {201, 400, 200},
		"HEAD /v1/identity HTTP/1.1\r\nHost: o\r\nConnection: close\r\n\r\n": {200},
		"POST http://opmint/v1/names HTTP/1.1\r\nHost: opmint\r\n\r\n":       {201},
		"POST /v1/names HTTP/1.0\r\n\r\n":                                    {201},
		"POST /v1/%6eames HTTP/1.1\r\nHost: o\r\n\r\n":                       {201},
		withBody(" \r\n"):               {201},
		withBody(" { } "):               {201},
		chunked("2\r\n{}\r\n0\r\n\r\n"): {201},
		"POST /v1/names HTTP/1.1\r\nHost: o\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n{}": {100, 201},
		post("/v1/names") + "garbage\r\n\r\n":                                                       {201, 400},
	} {
		var got []int
		c := d.dial()
		if _, err := io.WriteString(c, sent); err != nil {
			t.Fatal(err)
		}
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		method, _, _ := strings.Cut(sent, " ")
		for r := bufio.NewReader(c); len(got) < len(want); {
			answer, err := http.ReadResponse(r, &http.Request{Method: method})
			if err != nil {
				t.Fatalf("%q: %v", sent, err)
			}
			body, err := io.ReadAll(answer.Body)
			final := answer.StatusCode >= 200
			if err != nil || final && (answer.ContentLength <= 0 || (len(body) > 0) == (method == "HEAD")) {
				t.Errorf("%q: %v, body %q, %v", sent, answer, body, err)
			}
			got = append(got, answer.StatusCode)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%q: %v, want %v", sent, got, want)
			}
		}
	}
}
