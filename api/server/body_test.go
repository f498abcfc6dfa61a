package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"

	"github.com/opmint/opmint/keygen"
)

// unreadable is a body that must not be read.
type unreadable struct{ t *testing.T }

func (u unreadable) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// TestBodyOfStranger: of those who may not make a request not even the body is read.
func TestBodyOfStranger(t *testing.T) {
	s, _ := newServer(t, keygen.ClassH, 0)
	for name, target := range map[string]string{
		"names": "/v1/names", "leases": "/v1/leases", "renew": "/v1/identity/renew",
	} {
		for _, who := range []caller{{uid: unmapped}, {uid: s.UID}} {
			r := requestAs(who, "POST", target, "*/*")
			r.Body, r.ContentLength = io.NopCloser(unreadable{t}), maxBody
			if who.uid != unmapped {
				r.Header.Set("Origin", "http://evil.example")
			}
			wantProblem(t, name, s.serve(r), 403, "forbidden")
		}
	}
}

// TestBodyOfTooMuch: nor is one that announces too much.
func TestBodyOfTooMuch(t *testing.T) {
	s, _ := newServer(t, keygen.ClassH, 0)
	for _, target := range []string{"/v1/names", "/v1/leases"} {
		r := requestAs(caller{}, "POST", target, "*/*")
		r.Body, r.ContentLength = io.NopCloser(unreadable{t}), maxBody+1
		wantProblem(t, target, s.serve(r), 413, "too-large")
	}
}

// halfSent is a body of white space that stalls before its last byte.
type halfSent struct {
	left    int
	stalled func() // once
	release chan struct{}
}

func (h *halfSent) Read(b []byte) (int, error) {
	if h.left == 0 {
		h.stalled()
		<-h.release
		return 0, io.ErrUnexpectedEOF
	}
	n := min(len(b), h.left)
	for i := range b[:n] {
		b[i] = ' '
	}
	h.left -= n
	return n, nil
}

// TestHalfSentBodies: many large bodies that stop before their end, of requests that
// take none, hold next to nothing in memory.
func TestHalfSentBodies(t *testing.T) {
	const many = 64
	s, _ := newServer(t, keygen.ClassH, 0)
	release := make(chan struct{})
	var stalled, over sync.WaitGroup
	stalled.Add(many)
	before := heap()
	for range many {
		over.Go(func() {
			done := sync.OnceFunc(stalled.Done)
			r := requestAs(caller{}, "POST", "/v1/names", "*/*")
			r.Body = io.NopCloser(&halfSent{maxBody / 4, done, release})
			r.ContentLength = -1
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			done() // if it was not read so far
			if w.Code != http.StatusBadRequest {
				t.Errorf("status %d", w.Code)
			}
		})
	}
	stalled.Wait()
	after := heap()
	close(release)
	over.Wait()
	if after > before+many*smallBody {
		t.Errorf("%d half sent bodies hold %d bytes", many, after-before)
	}
}

// heap returns how many bytes are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
