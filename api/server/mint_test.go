package server

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
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
	p := wantProblem(t, "no epoch", answers[0], 503, "unavailable")
	if !strings.Contains(p.Detail, "the chip is on fire") || answers[0].Header.Get("Retry-After") != "5" {
		t.Errorf("%v, detail %q", answers[0].Header, p.Detail)
	}
	// Nor does it help that the first names were there: none was sent.
	d.source.breakWith(nil)
	d.do("POST", "/v1/names", nil, "")
	d.source.breakWith(errors.New("the chip is on fire"))
	answers, _ = d.raw(post("/v1/names?count=2"))
	wantProblem(t, "no second epoch", answers[0], 503, "unavailable")
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

// wantHundredNames mints a hundred names, one by one, whose seqs follow each
// other from first on.
func (d *daemon) wantHundredNames(what string, first uint64) {
	d.t.Helper()
	c := d.dial()
	r := bufio.NewReader(c)
	for i := range uint64(100) {
		if _, err := io.WriteString(c, "POST /v1/names HTTP/1.1\r\nHost: opmint\r\n\r\n"); err != nil {
			d.t.Fatalf("after %s: %v", what, err)
		}
		answer, err := http.ReadResponse(r, nil)
		if err != nil {
			d.t.Fatalf("after %s: %v", what, err)
		}
		var got api.Names
		if err := json.NewDecoder(answer.Body).Decode(&got); err != nil || len(got.Names) != 1 {
			d.t.Fatalf("after %s: %v, %v", what, got, err)
		}
		name, err := keygen.Parse(got.Names[0])
		if err != nil || name.Seq() != first+i || answer.StatusCode != http.StatusCreated {
			d.t.Fatalf("after %s, name %d: status %d, %s, %v, want seq %d", what, i, answer.StatusCode, name, err, first+i)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			d.t.Fatal(err)
		}
	}
}
