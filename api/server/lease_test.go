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

// TestMintTakesAnotherLease: names are minted under a lease for as long as it
// lasts, however slow the client, and each part of the answer has a deadline.
func TestMintTakesAnotherLease(t *testing.T) {
	for class, life := range map[keygen.Class]time.Duration{
		keygen.ClassH: time.Minute, keygen.ClassV: time.Second, keygen.ClassJ: time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			s, _ := newServer(t, class, 0)
			w := &deadlines{httptest.NewRecorder(), func() { time.Sleep(life / 4) }, nil}
			s.ServeHTTP(w, requestAs(caller{}, "POST", "/v1/names?count=10000", "text/plain"))

			names := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
			if len(names) != 10_000 {
				t.Fatalf("%d names", len(names))
			}
			perPart := bufferSize / (keygen.Length + 1)
			// Four parts use up a lease's time; what it had left is dropped, and
			// the next lease begins after it.
			first, lost := uint64(0), uint64(0)
			for i, text := range names {
				if i > 0 && i%(4*perPart) == 0 {
					lost = 10_000 - first
					first = uint64(i)
				}
				name, err := keygen.Parse(text)
				if err != nil || i < 4*perPart && name.Seq() != uint64(i) || i == 4*perPart && name.Seq() != lost {
					t.Fatalf("class %s, name %d: %s, %v", class, i, text, err)
				}
			}
			if parts := (len(names) + perPart - 1) / perPart; len(w.set) != parts-1 {
				t.Errorf("%d deadlines for %d parts", len(w.set), parts)
			}
			for _, d := range w.set {
				if d != writeTime {
					t.Errorf("a deadline %v ahead, want %v", d, writeTime)
				}
			}
		})
	}
}

func TestLeaseExpires(t *testing.T) {
	now := time.Now()
	wall := func(d time.Duration) time.Time { return now.Round(0).Add(d) } // as after a sleep of the machine
	for _, c := range []struct {
		class keygen.Class
		at    time.Time
		want  bool
	}{
		{keygen.ClassH, now.Add(59 * time.Second), false},
		{keygen.ClassH, now.Add(time.Minute), true},
		{keygen.ClassV, now.Add(999 * time.Millisecond), false},
		{keygen.ClassV, now.Add(time.Second), true},
		{keygen.ClassJ, now.Add(time.Second), true},
		{keygen.ClassJ, wall(time.Second), true},
		{keygen.ClassJ, wall(-time.Hour), false},
		{keygen.ClassH, wall(time.Hour), true},
	} {
		terms := keygen.Terms{Class: c.class, Identity: testIdentity, Epoch: 1, Count: 1}
		of, err := keygen.NewLease(terms)
		if err != nil {
			t.Fatal(err)
		}
		l := lease{Lease: of, taken: now}
		if got := l.expired(c.at); got != c.want {
			t.Errorf("class %s after %v: %v", c.class, c.at.Sub(now), got)
		}
	}
}
