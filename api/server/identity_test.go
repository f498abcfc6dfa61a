package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// requestAs returns a request as it comes from a caller.
func requestAs(c caller, method, target, accept string) *http.Request {
	r := httptest.NewRequest(method, target, http.NoBody)
	r.Host = "opmint"
	r.Header.Set("Accept", accept)
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, c))
}

// serve answers a request that came over no socket.
func (s *Server) serve(r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	answer := w.Result()
	answer.ContentLength = int64(w.Body.Len())
	return answer
}

func TestWhoMayDoWhat(t *testing.T) {
	s, src := newServer(t, keygen.ClassH, 0)
	s.UID = 990
	for _, c := range []struct {
		caller         caller
		method, target string
		status         int
		says           string
	}{
		{caller{uid: 0}, "POST", "/v1/identity/renew", 200, ""},
		{caller{uid: 990}, "POST", "/v1/identity/renew", 200, ""},
		{caller{uid: 1000}, "POST", "/v1/identity/renew", 403, "uid 1000"},
		{caller{uid: 1000}, "POST", "/v1/identity/renew?now=1", 400, "now"},
		{caller{uid: 1000}, "POST", "/v1/names", 201, ""},
		{caller{uid: 1000}, "GET", "/v1/identity", 200, ""},
		{caller{uid: unmapped}, "POST", "/v1/names", 403, "user namespace"},
		{caller{uid: unmapped}, "POST", "/v1/names?count=x", 400, "count"},
		{caller{uid: unmapped}, "GET", "/v1/healthz", 403, "user namespace"},
		{caller{err: errors.New("no such luck")}, "POST", "/v1/names", 403, "no such luck"},
	} {
		answer := s.serve(requestAs(c.caller, c.method, c.target, "*/*"))
		if c.status >= 400 {
			code := map[int]string{400: "bad-request", 403: "forbidden"}[c.status]
			if p := wantProblem(t, c.target, answer, c.status, code); !strings.Contains(p.Detail, c.says) {
				t.Errorf("%+v %s: %q does not say %q", c.caller, c.target, p.Detail, c.says)
			}
		} else if answer.StatusCode != c.status {
			t.Errorf("%+v %s: %s", c.caller, c.target, answer.Status)
		}
	}
	nobody := httptest.NewRequest("POST", "/v1/identity/renew", http.NoBody)
	wantProblem(t, "nobody", s.serve(nobody), 403, "forbidden")
	if src.renewed != 2 {
		t.Errorf("renewed %d times, want 2", src.renewed)
	}
}

// TestRenewalWithoutWear: where a renewal wears no TPM, everybody may ask for one.
func TestRenewalWithoutWear(t *testing.T) {
	for _, class := range []keygen.Class{keygen.ClassV, keygen.ClassJ} {
		s, _ := newServer(t, class, 0)
		s.UID = 990
		if answer := s.serve(requestAs(caller{uid: 1000}, "POST", "/v1/identity/renew", "*/*")); answer.StatusCode != 200 {
			t.Errorf("class %s: %s", class, answer.Status)
		}
		answer := s.serve(requestAs(caller{uid: unmapped}, "POST", "/v1/identity/renew", "*/*"))
		wantProblem(t, "unmapped", answer, 403, "forbidden")
	}
}

// TestCallerIsUs: the kernel says who is calling.
func TestCallerIsUs(t *testing.T) {
	l, err := Listen(t.TempDir() + "/s")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := &daemon{t: t, socket: l.Addr().String()}
	d.dial()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := callerOf(c.(socket)); got != (caller{uid: uint32(os.Geteuid())}) {
		t.Errorf("%+v, want uid %d", got, os.Geteuid())
	}
}

func TestIdentityAndRenewal(t *testing.T) {
	d := startServer(t, 0)
	want := func(method, target string, id keygen.Identity, epoch uint64) {
		t.Helper()
		answer, body := d.do(method, target, nil, "")
		var got api.Identity
		if err := json.Unmarshal([]byte(body), &got); err != nil || answer.StatusCode != 200 ||
			answer.Header.Get("Content-Type") != "application/json" {
			t.Fatalf("%s: %s %s, %v", target, answer.Status, body, err)
		}
		if got.Class != keygen.ClassH || got.Identity != id || got.Epoch != epoch || *got.Counter != epoch {
			t.Errorf("%s: %s, want identity %s, epoch %d", target, body, id, epoch)
		}
	}
	renewed := keygen.NewIdentity([32]byte{1}, [32]byte{2}, [16]byte{3, 1})
	want("GET", "/v1/identity", testIdentity, 1)
	want("POST", "/v1/identity/renew", renewed, 2)
	want("GET", "/v1/identity", renewed, 2)

	d.source.breakWith(errors.New("the chip is on fire"))
	answers, _ := d.raw(post("/v1/identity/renew"))
	if p := wantProblem(t, "renewal", answers[0], 503, "unavailable"); !strings.Contains(p.Detail, "the chip is on fire") {
		t.Errorf("detail %q", p.Detail)
	}
	want("GET", "/v1/identity", renewed, 2)
}

func TestNames(t *testing.T) {
	const foreign = "h1-emhwdgg60rf5x9vn4a-00000001-00000000-r4trds3k1d7z9ygzca"
	d := startServer(t, 0)
	lease, err := d.source.Lease(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	own, err := lease.Name(0)
	if err != nil {
		t.Fatal(err)
	}
	child, err := own.Child("undo")
	if err != nil {
		t.Fatal(err)
	}
	semantic, err := keygen.Semantic("coil", "7")
	if err != nil {
		t.Fatal(err)
	}
	owned := `"class":"h","identity":"` + testIdentity.String() + `","epoch":1,"seq":0,"labels":`
	for target, want := range map[string]string{
		own.String():      owned + `[],"here":true,"claimed":"2030-01-02T03:04:01Z"}`,
		child.String():    owned + `["undo"],"here":true,"claimed":"2030-01-02T03:04:01Z"}`,
		foreign:           `"class":"h","identity":"emhwdgg60rf5x9vn4a","epoch":1,"seq":0,"labels":[],"here":false}`,
		semantic.String(): `"class":"s","labels":[],"here":false}`,
	} {
		answer, body := d.do("GET", "/v1/names/"+target, nil, "")
		if want = `{"name":"` + target + `",` + want + "\n"; answer.StatusCode != 200 || body != want {
			t.Errorf("%s: %s\n%swant\n%s", target, answer.Status, body, want)
		}
	}
	if answer, body := d.do("GET", "/v1/names/%681-"+foreign[3:], nil, ""); answer.StatusCode != 200 {
		t.Errorf("a name with an encoded letter: %s %s", answer.Status, body)
	}
	d.source.mu.Lock()
	d.source.unread = errors.New("the disk is on fire")
	d.source.mu.Unlock()
	answers, _ := d.raw(strings.Replace(post("/v1/names/"+foreign), "POST", "GET", 1))
	if p := wantProblem(t, "look up", answers[0], 503, "unavailable"); !strings.Contains(p.Detail, "the disk is on fire") {
		t.Errorf("detail %q", p.Detail)
	}
}

func TestHealthAndReadiness(t *testing.T) {
	d := startServer(t, 3)
	if answer, body := d.do("GET", "/v1/healthz", nil, ""); answer.StatusCode != 200 ||
		body != `{"version":"v1.2.3","api":1}`+"\n" {
		t.Errorf("health: %s %s", answer.Status, body)
	}
	if answer, body := d.do("GET", "/v1/readyz", nil, ""); answer.StatusCode != 200 || body != `{"ready":true}`+"\n" {
		t.Errorf("ready: %s %s", answer.Status, body)
	}
	d.source.breakWith(errors.New("the TPM is gone"))
	answer, body := d.do("GET", "/v1/readyz", nil, "")
	var got api.Readiness
	if err := json.Unmarshal([]byte(body), &got); err != nil || answer.StatusCode != 200 || !got.Ready ||
		got.Warning != "minting goes on in epoch 1, which has 3 names left, but no other can be claimed: the TPM is gone" {
		t.Errorf("ready with a warning: %s %s", answer.Status, body)
	}
	if answer, _ := d.do("POST", "/v1/names?count=3", nil, ""); answer.StatusCode != 201 {
		t.Errorf("mint with a warning: %s", answer.Status)
	}
	answers, _ := d.raw(get("/v1/readyz"))
	if p := wantProblem(t, "not ready", answers[0], 503, "unavailable"); !strings.Contains(p.Detail, "the TPM is gone") {
		t.Errorf("detail %q", p.Detail)
	}
	if answer, _ := d.do("GET", "/v1/healthz", nil, ""); answer.StatusCode != 200 {
		t.Errorf("health of a daemon that cannot mint: %s", answer.Status)
	}
}

// TestClientsThatHaveLeft: what a client asked for is completed, also when it has
// said all it had to say and closed its half of the connection, which ends the
// context of its request.
func TestClientsThatHaveLeft(t *testing.T) {
	s, _ := newServer(t, keygen.ClassH, 1)
	left, cancel := context.WithCancel(context.WithValue(t.Context(), callerKey{}, caller{}))
	cancel()
	for _, target := range []string{
		"POST /v1/names", "POST /v1/names", "GET /v1/identity", "POST /v1/identity/renew", "GET /v1/readyz",
	} {
		method, path, _ := strings.Cut(target, " ")
		r := requestAs(caller{}, method, path, "*/*").WithContext(left)
		if answer := s.serve(r); answer.StatusCode/100 != 2 || answer.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s", target, answer.Status)
		}
	}
}

// TestTimeAfterWaiting: an answer that had to wait for the daemon can be written
// when it is there, however long that took.
func TestTimeAfterWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(t, keygen.ClassH, 1)
		// The first name takes no claim, the second does.
		for i, path := range []string{"/v1/names", "/v1/names", "/v1/identity/renew"} {
			w := &deadlines{httptest.NewRecorder(), func() {}, nil}
			s.ServeHTTP(w, requestAs(caller{}, "POST", path, ""))
			extended := slices.Contains(w.set, sourceTime+writeTime)
			if extended != (i > 0) || w.Code/100 != 2 {
				t.Errorf("request %d, %s: status %d, to be written within %v", i, path, w.Code, w.set)
			}
		}
	})
}
