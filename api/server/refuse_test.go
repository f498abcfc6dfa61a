package server

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// refused are requests as bytes on the wire, and how each is refused.
var refused = []struct {
	name, sent string
	status     int
	code       string
}{
	{"count -100", post("/v1/names?count=-100"), 400, "bad-request"},
	{"count 0", post("/v1/names?count=0"), 400, "bad-request"},
	{"count +1", post("/v1/names?count=%2b1"), 400, "bad-request"},
	{"count 01", post("/v1/names?count=01"), 400, "bad-request"},
	{"count 1.5", post("/v1/names?count=1.5"), 400, "bad-request"},
	{"count 1e3", post("/v1/names?count=1e3"), 400, "bad-request"},
	{"count 0x10", post("/v1/names?count=0x10"), 400, "bad-request"},
	{"count 1_000", post("/v1/names?count=1_000"), 400, "bad-request"},
	{"count 1000001", post("/v1/names?count=1000001"), 400, "bad-request"},
	{"count 2^31", post("/v1/names?count=2147483648"), 400, "bad-request"},
	{"count 2^63", post("/v1/names?count=9223372036854775808"), 400, "bad-request"},
	{"count 2^64+1", post("/v1/names?count=18446744073709551617"), 400, "bad-request"},
	{"count a word", post("/v1/names?count=many"), 400, "bad-request"},
	{"count empty", post("/v1/names?count="), 400, "bad-request"},
	{"count without a value", post("/v1/names?count"), 400, "bad-request"},
	{"count twice", post("/v1/names?count=1&count=1"), 400, "bad-request"},
	{"count in Arabic digits", post("/v1/names?count=%D9%A3"), 400, "bad-request"},
	{"format unknown", post("/v1/names?format=guid"), 400, "bad-request"},
	{"format in upper case", post("/v1/names?format=UUID"), 400, "bad-request"},
	{"format empty", post("/v1/names?format="), 400, "bad-request"},
	{"parameter unknown", post("/v1/names?n=3"), 400, "bad-request"},
	{"parameter with a semicolon", post("/v1/names?count=1;count=2"), 400, "bad-request"},
	{"parameter badly encoded", post("/v1/names?count=%zz"), 400, "bad-request"},
	{"parameter of one that takes none", get("/v1/healthz?verbose"), 400, "bad-request"},

	{"body with a field", withBody("{\"count\":3}"), 400, "bad-request"},
	{"body null", withBody("null"), 400, "bad-request"},
	{"body a list", withBody("[]"), 400, "bad-request"},
	{"body two objects", withBody("{}{}"), 400, "bad-request"},
	{"body half an object", withBody("{ "), 400, "bad-request"},
	{"body no JSON", withBody("count=3"), 400, "bad-request"},
	{"body not UTF-8", withBody("{\"\xff\":1}"), 400, "bad-request"},
	{"body deep", withBody(strings.Repeat(`{"a":`, 20_000)), 400, "bad-request"},
	{"body half sent", with("Content-Length: 20") + "{", 400, "bad-request"},
	{"body half sent, chunked", chunked("5\r\n{"), 400, "bad-request"},
	{"body with a bad chunk", chunked("zz\r\n{}\r\n0\r\n\r\n"), 400, "bad-request"},
	{"body too large", withBody("{" + strings.Repeat(" ", maxBody) + "}"), 413, "too-large"},
	{"body too large, in chunks", chunked("400001\r\n" + strings.Repeat(" ", maxBody+1)), 413, "too-large"},
	{"body said to be huge", with("Content-Length: 99999999999") + "{", 413, "too-large"},

	{"path unknown", get("/v1/name"), 404, "not-found"},
	{"path of another version", post("/v2/names"), 404, "not-found"},
	{"path root", get("/"), 404, "not-found"},
	{"path too long for a route", get("/v1/names/a/b"), 404, "not-found"},
	{"path with dots", post("/v1/x/../names"), 404, "not-found"},
	{"path with an encoded slash", post("/v1%2Fnames"), 404, "not-found"},
	{"path in upper case", post("/V1/names"), 404, "not-found"},
	{"path with an empty segment", post("/v1//names"), 400, "bad-request"},
	{"path with an empty segment in front", post("//v1/names"), 400, "bad-request"},
	{"path with an empty segment at the end", post("/v1/names/"), 400, "bad-request"},
	{"path badly encoded", get("/v1/names/%zz"), 400, "bad-request"},
	{"path not UTF-8", get("/v1/names/%ff"), 400, "bad-request"},
	{"name truncated", get("/v1/names/h1-emhwdgg60rf5x9vn4a-00000001"), 400, "bad-request"},
	{"target *", "OPTIONS * HTTP/1.1\r\nHost: o\r\n\r\n", 400, "bad-request"},
	{"target an authority", "CONNECT example.org:80 HTTP/1.1\r\nHost: example.org:80\r\n\r\n", 400, "bad-request"},

	{"method GET to mint", get("/v1/names"), 405, "method-not-allowed"},
	{"method POST to a name", post("/v1/names/x"), 405, "method-not-allowed"},
	{"method unknown", "BREW /v1/identity HTTP/1.1\r\nHost: o\r\n\r\n", 405, "method-not-allowed"},
	{"method in lower case", "post /v1/names HTTP/1.1\r\nHost: o\r\n\r\n", 405, "method-not-allowed"},
	{"method OPTIONS", "OPTIONS /v1/names HTTP/1.1\r\nHost: o\r\n\r\n", 405, "method-not-allowed"},
	{"method CONNECT to a path", "CONNECT /v1/names HTTP/1.1\r\nHost: o\r\n\r\n", 405, "method-not-allowed"},
	{"method TRACE", "TRACE /v1/healthz HTTP/1.1\r\nHost: o\r\n\r\n", 405, "method-not-allowed"},

	{"from a web page", with("Origin: http://evil.example"), 403, "forbidden"},
	{"from a sandboxed page", with("Origin: null"), 403, "forbidden"},
	{"for a web page's host", "POST /v1/names HTTP/1.1\r\nHost: evil.example:8080\r\n\r\n", 403, "forbidden"},
	{"for a host in the target", "POST http://evil.example/v1/names HTTP/1.1\r\nHost: opmint\r\n\r\n", 403, "forbidden"},
	{"for a host in capitals in the target", get("HTTP://EVIL.EXAMPLE:80/v1/identity"), 403, "forbidden"},
	{"for an address in the target", get("http://192.0.2.7/v1/identity"), 403, "forbidden"},
	{"for a host in a target of HTTP/1.0", "GET http://evil.example/v1/healthz HTTP/1.0\r\n\r\n", 403, "forbidden"},
	{"for a host beside a target without one", "GET http:///metrics HTTP/1.1\r\nHost: a.b\r\n\r\n", 403, "forbidden"},
	{"from a page, with a body", with("Origin: null\r\nContent-Length: 1") + "x", 403, "forbidden"},
	{"from a page, badly", "POST /v1/names?n=1 HTTP/1.1\r\nHost: o\r\nOrigin: null\r\n\r\n", 400, "bad-request"},

	{"half a request line", "POST /v1/na", 400, "bad-request"},
	{"half a header", "POST /v1/names HTTP/1.1\r\nHost: opm", 400, "bad-request"},
	{"a header without an end", "POST /v1/names HTTP/1.1\r\nHost: o\r\n", 400, "bad-request"},
	{"no HTTP", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, "bad-request"},
	{"no host", "POST /v1/names HTTP/1.1\r\n\r\n", 400, "bad-request"},
	{"two hosts", "POST /v1/names HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "bad-request"},
	{"a header without a colon", with("nonsense"), 400, "bad-request"},
	{"a header with a NUL", with("X: a\x00b"), 400, "bad-request"},
	{"a space in the target", "POST /v1/names count HTTP/1.1\r\nHost: o\r\n\r\n", 400, "bad-request"},
	{"HTTP/2 with prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "bad-request"},
	{"HTTP/3.7", "POST /v1/names HTTP/3.7\r\nHost: o\r\n\r\n", 400, "bad-request"},
	{"two lengths", with("Content-Length: 0\r\nContent-Length: 2") + "{}", 400, "bad-request"},
	{"a negative length", with("Content-Length: -1"), 400, "bad-request"},
	{"an unknown transfer encoding", with("Transfer-Encoding: gzip"), 400, "bad-request"},
	{"an expectation", with("Expect: the worst"), 400, "bad-request"},
	{"a header of 1 MiB", with("X: " + strings.Repeat("x", 1<<20)), 413, "too-large"},
	{"a target of 1 MiB", post("/v1/names?count=" + strings.Repeat("1", 1<<20)), 413, "too-large"},
	{"a million headers", "POST /v1/names HTTP/1.1\r\nHost: o\r\n" + strings.Repeat("X: y\r\n", 1<<20), 413, "too-large"},
}

func get(target string) string  { return "GET " + target + " HTTP/1.1\r\nHost: opmint\r\n\r\n" }
func post(target string) string { return "POST " + target + " HTTP/1.1\r\nHost: opmint\r\n\r\n" }

// with returns a request with a header of its own.
func with(header string) string {
	return "POST /v1/names HTTP/1.1\r\nHost: opmint\r\n" + header + "\r\n\r\n"
}

func withBody(body string) string {
	return fmt.Sprintf("POST /v1/names HTTP/1.1\r\nHost: opmint\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func chunked(chunks string) string {
	return "POST /v1/names HTTP/1.1\r\nHost: opmint\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
}

// TestRefusals: whatever a client sends, it gets one problem, complete, and
// nothing is used up.
func TestRefusals(t *testing.T) {
	d := startServer(t, 0)
	next := uint64(0)
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			d.t = t
			answers, rest := d.raw(c.sent)
			if len(answers) != 1 || len(rest) > 0 {
				t.Fatalf("%d answers and %q", len(answers), rest)
			}
			p := wantProblem(t, c.name, answers[0], c.status, c.code)
			if answers[0].Header.Get("Retry-After") != "" {
				t.Errorf("waiting won't help: %v", answers[0].Header)
			}
			if (c.status == 405) != (answers[0].Header.Get("Allow") != "") {
				t.Errorf("Allow: %q", answers[0].Header.Get("Allow"))
			}
			t.Log(p.Detail)
			d.wantHundredNames(c.name, next)
			next += 100
		})
	}
	d.t = t
}

func TestAllow(t *testing.T) {
	d := startServer(t, 0)
	for target, want := range map[string]string{
		"/v1/names": "POST", "/v1/leases": "POST", "/metrics": "GET, HEAD",
		"/v1/names/x": "GET, HEAD", "/v1/identity": "GET, HEAD", "/v1/identity/renew": "POST",
		"/v1/healthz": "GET, HEAD", "/v1/readyz": "GET, HEAD",
	} {
		answer, _ := d.do(http.MethodPatch, target, nil, "")
		if answer.StatusCode != 405 || answer.Header.Get("Allow") != want {
			t.Errorf("PATCH %s: %s, Allow %q, want %q", target, answer.Status, answer.Header.Get("Allow"), want)
		}
	}
}

// TestStalledBody: a client that announces a body and never sends it is answered
// at once where the body can't matter, and others don't notice where it does.
func TestStalledBody(t *testing.T) {
	d := startServer(t, 0)
	for sent, status := range map[string]int{
		"POST /v1/nowhere HTTP/1.1\r\nHost: o\r\nContent-Length: 10\r\n\r\n":                            404,
		"POST /v1/names?count=x HTTP/1.1\r\nHost: o\r\nContent-Length: 10\r\n\r\n":                      400,
		"POST /v1/names HTTP/1.1\r\nHost: o\r\nContent-Length: 5000000\r\n\r\n{":                        413,
		"POST /v1/names HTTP/1.1\r\nHost: o\r\nContent-Length: 5000000\r\nExpect: 100-continue\r\n\r\n": 413,
		"POST /v1/names?n=1 HTTP/1.1\r\nHost: o\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n":   400,
		"PATCH /v1/names HTTP/1.1\r\nHost: o\r\nTransfer-Encoding: chunked\r\n\r\n":                     405,
	} {
		c := d.dial()
		if _, err := io.WriteString(c, sent); err != nil {
			t.Fatal(err)
		}
		line := make([]byte, len("HTTP/1.1 400"))
		if _, err := io.ReadFull(c, line); err != nil || string(line) != fmt.Sprintf("HTTP/1.1 %d", status) {
			t.Errorf("%q: %q, %v, want %d", sent, line, err, status)
		}
	}
	stalled := d.dial()
	if _, err := io.WriteString(stalled, "POST /v1/names HTTP/1.1\r\nHost: o\r\nContent-Length: 10\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	d.wantHundredNames("a stalled body", 0)
}
