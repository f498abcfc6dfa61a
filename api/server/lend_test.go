package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// lend returns the request for a lease with a body.
func lend(body string) string {
	return fmt.Sprintf("POST /v1/leases HTTP/1.1\r\nHost: opmint\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// refusedLeases are bodies of requests for leases, and how each is refused.
var refusedLeases = []struct {
	name, body string
	status     int
	code       string
}{
	{"nothing", "", 400, "bad-request"},
	{"an empty object", "{}", 400, "bad-request"},
	{"0", `{"count":0}`, 400, "bad-request"},
	{"-1", `{"count":-1}`, 400, "bad-request"},
	{"-0", `{"count":-0}`, 400, "bad-request"},
	{"2^20+1", `{"count":1048577}`, 400, "bad-request"},
	{"2^64", `{"count":18446744073709551616}`, 400, "bad-request"},
	{"2^64+1", `{"count":18446744073709551617}`, 400, "bad-request"},
	{"a fraction", `{"count":1.5}`, 400, "bad-request"},
	{"a whole fraction", `{"count":1.0}`, 400, "bad-request"},
	{"an exponent", `{"count":1e3}`, 400, "bad-request"},
	{"a word", `{"count":"many"}`, 400, "bad-request"},
	{"a number in quotes", `{"count":"1"}`, 400, "bad-request"},
	{"true", `{"count":true}`, 400, "bad-request"},
	{"null", `{"count":null}`, 400, "bad-request"},
	{"a list", `{"count":[1]}`, 400, "bad-request"},
	{"an object", `{"count":{}}`, 400, "bad-request"},
	{"body null", `null`, 400, "bad-request"},
	{"body a list", `[{"count":1}]`, 400, "bad-request"},
	{"body a number", `1`, 400, "bad-request"},
	{"unknown field", `{"count":1,"n":1}`, 400, "bad-request"},
	{"field in upper case", `{"Count":1}`, 400, "bad-request"},
	{"field twice", `{"count":1,"count":1}`, 400, "bad-request"},
	{"trailing object", `{"count":1}{"count":1}`, 400, "bad-request"},
	{"trailing word", `{"count":1} x`, 400, "bad-request"},
	{"deep", strings.Repeat(`{"count":`, 100_000), 400, "bad-request"},
	{"deep lists", `{"count":` + strings.Repeat(`[`, 1_000_000), 400, "bad-request"},
	{"not UTF-8", "{\"count\":1,\"\xff\":1}", 400, "bad-request"},
	{"UTF-16", "{\x00\"\x00", 400, "bad-request"},
	{"byte order mark", "\xef\xbb\xbf{\"count\":1}", 400, "bad-request"},
	{"broken off", `{"count":1`, 400, "bad-request"},
	{"too large", `{"count":1` + strings.Repeat(" ", maxBody) + `}`, 413, "too-large"},
}

// TestLeaseRefusals: whatever a client sends, it gets one problem, complete, and
// nothing is used up.
func TestLeaseRefusals(t *testing.T) {
	d := startServer(t, 0)
	check := func(name, sent string, status int, code string) {
		t.Helper()
		answers, rest := d.raw(sent)
		if len(answers) != 1 || len(rest) > 0 {
			t.Fatalf("%s: %d answers and %q", name, len(answers), rest)
		}
		wantProblem(t, name, answers[0], status, code)
	}
	for _, c := range refusedLeases {
		check(c.name, lend(c.body), c.status, c.code)
	}
	whole := lend(`{"count":1}`)
	check("half sent", whole[:len(whole)-3], 400, "bad-request")
	check("a parameter", strings.Replace(whole, "leases", "leases?count=1", 1), 400, "bad-request")
	check("from a web page", strings.Replace(whole, "Host: opmint", "Host: opmint\r\nOrigin: null", 1), 403, "forbidden")
	check("for another host", strings.Replace(whole, "Host: opmint", "Host: evil.example", 1), 403, "forbidden")
	check("by GET", get("/v1/leases"), 405, "method-not-allowed")
	d.wantHundredNames("refusals", 0)
}

// lease asks for a lease.
func (d *daemon) lease(body string) api.Lease {
	d.t.Helper()
	answer, text := d.do("POST", "/v1/leases", nil, body)
	var got api.Lease
	if err := json.Unmarshal([]byte(text), &got); err != nil || answer.StatusCode != 201 ||
		answer.Header.Get("Content-Type") != "application/json" {
		d.t.Fatalf("%s: %s %s, %v", body, answer.Status, text, err)
	}
	return got
}

func TestLeases(t *testing.T) {
	d := startServer(t, 0)
	keys := map[api.LeaseKey]bool{}
	next := uint64(0)
	for body, count := range map[string]uint64{
		`{"count":1}`: 1, ` {"count" : 1048576 } ` + strings.Repeat("\n", 3<<20): 1 << 20, `{"count":1000}`: 1000,
	} {
		got := d.lease(body)
		want := api.Lease{
			Class: keygen.ClassH, Identity: testIdentity, Epoch: 1, First: next, Count: count, Key: got.Key, ExpiresInMS: 60_000,
		}
		if got != want || keys[got.Key] {
			t.Errorf("%.20s: %+v, want %+v", body, got, want)
		}
		keys[got.Key] = true
		next += count
		if _, err := keygen.NewLease(got.Terms()); err != nil {
			t.Error(err)
		}
	}
	d.wantHundredNames("leases", next)
}

// TestLeaseAnswersToTheByte: what clients in other languages read.
func TestLeaseAnswersToTheByte(t *testing.T) {
	for class, ms := range map[keygen.Class]string{keygen.ClassH: "60000", keygen.ClassV: "1000", keygen.ClassJ: "1000"} {
		s, _ := newServer(t, class, 0)
		r := requestAs(caller{uid: 1000}, "POST", "/v1/leases", "*/*")
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(`{"count":5}`)), 11
		body, err := io.ReadAll(s.serve(r).Body)
		head := `{"class":"` + class.String() + `","identity":"` + testIdentity.String() +
			`","epoch":1,"first":0,"count":5,"key":"`
		key, rest, _ := strings.Cut(strings.TrimPrefix(string(body), head), `"`)
		if err != nil || !strings.HasPrefix(string(body), head) || len(key) != 22 || rest != `,"expires_in_ms":`+ms+"}\n" {
			t.Errorf("%s, %v", body, err)
		}
	}
}

// TestLeaseAtTheEndOfAnEpoch: a lease has what is left, and the next one is of the
// next epoch.
func TestLeaseAtTheEndOfAnEpoch(t *testing.T) {
	d := startServer(t, 100)
	for _, want := range []struct{ epoch, first, count uint64 }{{1, 0, 80}, {1, 80, 20}, {2, 0, 80}, {2, 80, 20}} {
		got := d.lease(`{"count":80}`)
		if got.Epoch != want.epoch || got.First != want.first || got.Count != want.count {
			t.Errorf("%d from %d in epoch %d, want %+v", got.Count, got.First, got.Epoch, want)
		}
	}
	d.source.breakWith(errors.New("the chip is on fire"))
	answers, _ := d.raw(lend(`{"count":80}`))
	p := wantProblem(t, "no epoch", answers[0], 503, "unavailable")
	if !strings.Contains(p.Detail, "the chip is on fire") {
		t.Errorf("detail %q", p.Detail)
	}
	d.source.breakWith(nil)
	if got := d.lease(`{"count":1048576}`); got.Epoch != 3 || got.Count != 100 {
		t.Errorf("%d in epoch %d", got.Count, got.Epoch)
	}
}
