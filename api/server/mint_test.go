package server

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// shapes is what names look like in each format.
var shapes = map[string]string{
	"native": `h1-[0-9a-hjkmnp-tv-z]{18}-[0-9a-hjkmnp-tv-z]{8}-[0-9a-hjkmnp-tv-z]{8}-[0-9a-hjkmnp-tv-z]{18}`,
	"uuid":   `[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`,
	"uuid4":  `[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`,
	"uuid7":  `[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`,
	"header": `"h1-[0-9a-hjkmnp-tv-z-]{55}"`,
}

func TestMintFormatsAndCounts(t *testing.T) {
	d := startServer(t, 0)
	seen := map[string]bool{}
	for format, shape := range shapes {
		shape := regexp.MustCompile("^" + shape + "$")
		// 600 names overflow the buffer once, 40,000 many times.
		for _, count := range []int{1, 2, 600, 40_000} {
			target := "/v1/names?format=" + format + "&count=" + strconv.Itoa(count)
			answer, body := d.do("POST", target, nil, "")
			var got api.Names
			if err := json.Unmarshal([]byte(body), &got); err != nil || answer.StatusCode != 201 ||
				answer.Header.Get("Content-Type") != "application/json" || answer.ContentLength != int64(len(body)) {
				t.Fatalf("%s: %s %v, %v", target, answer.Status, answer.Header, err)
			}
			if got.Class != keygen.ClassH || got.Identity != testIdentity || got.Epoch != 1 {
				t.Errorf("%s: class %s, identity %s, epoch %d", target, got.Class, got.Identity, got.Epoch)
			}

			answer, body = d.do("POST", target, http.Header{"Accept": {"text/plain"}}, "")
			lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
			if answer.StatusCode != 201 || answer.Header.Get("Content-Type") != "text/plain; charset=utf-8" ||
				answer.ContentLength != int64(len(body)) || !strings.HasSuffix(body, "\n") {
				t.Fatalf("%s as text: %s %v", target, answer.Status, answer.Header)
			}
			if len(got.Names) != count || len(lines) != count {
				t.Fatalf("%s: %d names, and %d as text", target, len(got.Names), len(lines))
			}
			for _, name := range append(got.Names, lines...) {
				if !shape.MatchString(name) || seen[name] {
					t.Fatalf("%s: %q, seen before: %v", target, name, seen[name])
				}
				seen[name] = true
			}
		}
	}
}

func TestMintAnswersToTheByte(t *testing.T) {
	d := startServer(t, 0)
	_, body := d.do("POST", "/v1/names", nil, "")
	shape := regexp.MustCompile(`^\{"names":\["` + shapes["native"] + `"\],"class":"h","identity":"` +
		testIdentity.String() + `","epoch":1\}` + "\n$")
	if !shape.MatchString(body) {
		t.Errorf("%q does not match %s", body, shape)
	}
}

func TestMintIsDenseOverEpochs(t *testing.T) {
	d := startServer(t, 100)
	_, body := d.do("POST", "/v1/names?count=1600", http.Header{"Accept": {"text/plain"}}, "")
	for i, line := range strings.Split(strings.TrimSpace(body), "\n") {
		name, err := keygen.Parse(line)
		if err != nil || name.Epoch() != uint64(1+i/100) || name.Seq() != uint64(i%100) {
			t.Fatalf("name %d: %s, %v", i, line, err)
		}
	}
	_, body = d.do("POST", "/v1/names?count=150", nil, "")
	var got api.Names
	if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.Names) != 150 || got.Epoch != 17 {
		t.Errorf("%d names, epoch %d, %v", len(got.Names), got.Epoch, err)
	}
	answer, _ := d.do("POST", "/v1/names?count=1601", nil, "")
	if answer.StatusCode != 400 {
		t.Errorf("more than 16 claims: %s", answer.Status)
	}
}

func TestMintBodies(t *testing.T) {
	d := startServer(t, 0)
	for _, body := range []string{"", "{}", " {\n}\r\n\t "} {
		if answer, text := d.do("POST", "/v1/names", nil, body); answer.StatusCode != 201 {
			t.Errorf("body %q: %s %s", body, answer.Status, text)
		}
	}
}

// TestMintWithoutAnEpoch: names are refused, with the reason, while no epoch can
// be claimed, and come again afterwards.
func TestMintWithoutAnEpoch(t *testing.T) {
	d := startServer(t, 2)
	d.do("POST", "/v1/names?count=2", nil, "")
	d.source.breakWith(errors.New("the chip is on fire"))
	answers, _ := d.raw(post("/v1/names"))
	if p := wantProblem(t, "no epoch", answers[0], 503, "unavailable"); !strings.Contains(p.Detail, "the chip is on fire") {
		t.Errorf("detail %q", p.Detail)
	}
	overloaded := api.NewProblem(api.ErrOverloaded)
	overloaded.RetryAfter = 1500 * time.Millisecond
	d.source.breakWith(overloaded)
	answers, _ = d.raw(post("/v1/names"))
	wantProblem(t, "no claims left", answers[0], 503, "overloaded")
	if after := answers[0].Header.Get("Retry-After"); after != "2" {
		t.Errorf("Retry-After: %q", after)
	}
	d.source.breakWith(nil)
	if answer, body := d.do("POST", "/v1/names?count=2", nil, ""); answer.StatusCode != 201 {
		t.Errorf("after repair: %s %s", answer.Status, body)
	}
}

// TestMintBreaksOff: an answer that cannot be completed does not look complete.
func TestMintBreaksOff(t *testing.T) {
	for _, accept := range []string{"text/plain", "application/json"} {
		for _, version := range []string{"HTTP/1.1", "HTTP/1.0"} {
			d := startServer(t, 1000)
			d.source.breakWith(errors.New("the chip is on fire"))
			c := d.dial()
			// The open epoch fills the first part of the answer, and no more.
			request := "POST /v1/names?count=1001 " + version + "\r\nHost: o\r\nAccept: " + accept + "\r\n\r\n"
			if _, err := io.WriteString(c, request); err != nil {
				t.Fatal(err)
			}
			answer, n, err := readAnswer(c)
			if answer == nil || answer.StatusCode != 201 || err == nil || n >= answer.ContentLength {
				t.Errorf("%s: %v, %d bytes, %v", accept, answer, n, err)
			}
		}
	}
}

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
			r := httptest.NewRequest("POST", "/v1/names?count=10000", nil)
			r.Header.Set("Accept", "text/plain")
			s.ServeHTTP(w, r)

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

func TestWantsText(t *testing.T) {
	for accept, want := range map[string]bool{
		"":                                      false,
		"text/plain":                            true,
		"TEXT/Plain; charset=utf-8":             true,
		"text/*":                                true,
		"*/*":                                   false,
		"application/json":                      false,
		"text/plain, */*":                       true,
		"text/plain, */*;q=0.1":                 true,
		"text/html, text/plain;q=0.5":           true,
		"text/plain, application/json":          false,
		"text/plain;q=0.5, application/json":    false,
		"text/plain, application/json;q=0.9":    true,
		"text/plain;q=0":                        false,
		"text/plain;q=0, */*":                   false,
		"text/*;q=0.2, text/plain, */*;q=0.5":   true,
		"text/plain;q=2":                        false,
		"text/plain;q=NaN":                      false,
		"image/png":                             false,
		"text/plain;q":                          false,
		",;,text/plain":                         true,
		"application/*;q=0.1, text/*;q=0.1":     false,
		"application/json;q=0, */*":             true,
		"application/problem+json, text/plain":  true,
		"text/event-stream, application/*":      false,
		"text/plain;q=0.001, application/x-foo": true,
	} {
		if got := wantsText([]string{accept}); got != want {
			t.Errorf("Accept: %s: %v", accept, got)
		}
	}
	if wantsText(nil) || !wantsText([]string{"application/json;q=0.3", "text/plain;q=0.4"}) {
		t.Error("no header, or two of them")
	}
}
