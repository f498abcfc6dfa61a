package server

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opmint/opmint/keygen"
)

// deadlines is a client that takes its time for each part of an answer.
type deadlines struct {
	*httptest.ResponseRecorder
	slow func()
	set  []time.Duration // ahead of now, for each deadline set
}

func (w *deadlines) SetWriteDeadline(at time.Time) error {
	w.set = append(w.set, time.Until(at))
	return nil
}

func (w *deadlines) Write(b []byte) (int, error) {
	w.slow()
	return w.ResponseRecorder.Write(b)
}

// TestEachBufferHasItsLease: what a memory snapshot can repeat of an answer under
// way is one buffer, and each part of the answer has a deadline.
func TestEachBufferHasItsLease(t *testing.T) {
	for _, class := range []keygen.Class{keygen.ClassH, keygen.ClassV, keygen.ClassJ} {
		synctest.Test(t, func(t *testing.T) {
			s, src := newServer(t, class, 0)
			w := &deadlines{httptest.NewRecorder(), func() { time.Sleep(time.Second) }, nil}
			s.ServeHTTP(w, requestAs(caller{}, "POST", "/v1/names?count=10000", "text/plain"))

			names := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
			if len(names) != 10_000 {
				t.Fatalf("%d names", len(names))
			}
			for i, text := range names {
				if name, err := keygen.Parse(text); err != nil || name.Class() != class || name.Seq() != uint64(i) {
					t.Fatalf("class %s, name %d: %s, %v", class, i, text, err)
				}
			}
			perPart := bufferSize / (keygen.Length + 1)
			parts := (len(names) + perPart - 1) / perPart
			if leases := src.leases.Load(); leases != int64(parts) || len(w.set) != parts-1 {
				t.Errorf("%d leases and %d deadlines for %d parts", leases, len(w.set), parts)
			}
			for _, d := range w.set {
				if d != writeTime {
					t.Errorf("a deadline %v ahead, want %v", d, writeTime)
				}
			}
		})
	}
}
