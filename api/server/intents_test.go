package server

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
)

const testFingerprint = "sha256:00000000000000000000000000000000000000000000000000000000000000ff"

// newIntents returns the intents of a daemon in small.
func newIntents(t testing.TB, minter *source, s store.Store) *journal.Intents {
	t.Helper()
	j, err := journal.Open(t.Context(), s, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	in, err := j.Intents(t.Context(), journal.IntentsConfig{
		Minter: minter, Random: rand.Reader, Horizon: 192 * time.Hour, MaxIntents: 1000, MaxStreams: 3,
		Boot: func() time.Duration { return time.Duration(minter.boot.Load()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// remembers lets a server know an intent, one that is gone, and a stream with a
// number that is gone, one that is known, and one that is void.
func (src *source) remembers(t testing.TB, s *Server) {
	t.Helper()
	for _, sent := range []soundRequest{
		{"PUT", "", "/v1/intents/gone", "", ""},
		{"PUT", "", "/v1/streams/s/names/gone", "", ""},
		{"POST", "", "/v1/streams/s/acked", "", `{"below":1}`},
		{},
		{"PUT", "", "/v1/intents/known", "", `{"fingerprint":"` + testFingerprint + `"}`},
		{"PUT", "", "/v1/streams/s/names/known", "", ""},
		{"PUT", "", "/v1/streams/s/names/void", "", ""},
		{"DELETE", "", "/v1/streams/s/seqs/2", "", ""},
	} {
		if sent == (soundRequest{}) {
			src.boot.Add(int64(journal.DefaultRetain))
			continue
		}
		if answer := s.serve(sent.request()); answer.StatusCode/100 != 2 {
			t.Fatalf("%+v: %s", sent, answer.Status)
		}
	}
}

// TestIntentOverTheSocket: all that is told of an intent, new and known.
func TestIntentOverTheSocket(t *testing.T) {
	d := startServer(t, 0)
	before := time.Now().Add(-time.Millisecond)
	var first api.Intent
	for i, want := range []int{201, 200, 200} {
		sent := `{"fingerprint":"` + testFingerprint + `","retain":"48h"}`
		answer, body := d.do("PUT", "/v1/intents/charge%20order%207", nil, sent)
		if i == 2 {
			answer, body = d.do("GET", "/v1/intents/charge%20order%207", nil, "")
		}
		var got api.Intent
		if err := json.Unmarshal([]byte(body), &got); err != nil || answer.StatusCode != want {
			t.Fatalf("%s %s, %v, want %d", answer.Status, body, err, want)
		}
		if i == 0 {
			first = got
		}
		if got.Intent != "charge order 7" || got.Name.Class() != keygen.ClassH || got.Name != first.Name ||
			got.Fingerprint.String() != testFingerprint || got.Created.Before(before) || got.Created != first.Created ||
			got.Expires.Sub(got.Created) != 48*time.Hour || got.Replayed != (i > 0) || got.MemorySince.IsZero() {
			t.Errorf("%s", body)
		}
	}
	answer, body := d.do("GET", "/metrics", nil, "")
	if answer.StatusCode != 200 || !strings.Contains(body, "\nopmint_intents_named_total 1\n") ||
		!strings.Contains(body, "\nopmint_intents_recalled_total 2\n") {
		t.Errorf("%s", body)
	}
}

// TestIntentsAreAnyText: each its own, and told as it came.
func TestIntentsAreAnyText(t *testing.T) {
	d := startServer(t, 0)
	names := map[keygen.Name]string{}
	for _, intent := range []string{
		".", "..", "...", "/", "//", "../..", "a/../b", "a/b", "a//b", "a%2Fb", "%", "%2", "%00", "\x00", "a\x00",
		"a\n", "\n", "\r\n", " ", "+", "?", "#", "a?b=c", "é", "e\u0301", "\u202e", "\U0001f4b6", "A", "a", ";", ":",
		"http://x/y", "names", "{intent}",
		strings.Repeat("x", 512), strings.Repeat("é", 256), "\ufffd",
	} {
		var escaped strings.Builder
		for _, b := range []byte(intent) {
			fmt.Fprintf(&escaped, "%%%02x", b)
		}
		for i, target := range []string{escaped.String(), url.PathEscape(intent)} {
			answers, _ := d.raw("PUT /v1/intents/" + target + " HTTP/1.1\r\nHost: opmint\r\n\r\n")
			var got api.Intent
			err := json.NewDecoder(answers[0].Body).Decode(&got)
			if err != nil || answers[0].StatusCode != 201-i || got.Intent != intent {
				t.Fatalf("%.40q as %.80q: %s %+v %v", intent, target, answers[0].Status, got, err)
			}
			if other, ok := names[got.Name]; ok && other != intent {
				t.Errorf("%.40q and %.40q have one name", intent, other)
			}
			names[got.Name] = intent
		}
	}
}

// TestBadIntents: what is refused changes nothing.
func TestBadIntents(t *testing.T) {
	s, src := newServer(t, keygen.ClassH, 0)
	m := storetest.NewMemory()
	s.Intents = newIntents(t, src, m)
	before := m.Commits()
	for _, c := range []struct {
		sent   soundRequest
		status int
		says   string
	}{
		{soundRequest{"PUT", "", "/v1/intents/", "", ""}, 400, "empty"},
		{soundRequest{"PUT", "", "/v1/intents/%ff", "", ""}, 400, "UTF-8"},
		{soundRequest{"PUT", "", "/v1/intents/%c3", "", ""}, 400, "UTF-8"},
		{soundRequest{"PUT", "", "/v1/intents/a/b", "", ""}, 404, "a/b"},
		{soundRequest{"PUT", "", "/v1/intents/" + strings.Repeat("x", 513), "", ""}, 400, "513"},
		{soundRequest{"PUT", "", "/v1/streams/" + strings.Repeat("x", 129) + "/names/i", "", ""}, 400, "129"},
		{soundRequest{"PUT", "", "/v1/streams/s/names/" + strings.Repeat("x", 513), "", ""}, 400, "513"},
		{soundRequest{"PUT", "", "/v1/streams/s/names/i", "", `{"fingerprint":"` + testFingerprint + `"}`}, 400, "no body"},
		{soundRequest{"PUT", "", "/v1/intents/i", "", `{"fingerprint":""}`}, 400, "fingerprint"},
		{soundRequest{"PUT", "", "/v1/intents/i", "", strings.ToUpper(`{"fingerprint":"` + testFingerprint + `"}`)}, 400, "unknown field"},
		{soundRequest{"PUT", "", "/v1/intents/i", "", `{"fingerprint":"` + strings.ToUpper(testFingerprint[7:]) + `"}`}, 400, "lower case"},
		{soundRequest{"PUT", "", "/v1/intents/i", "", `{"fingerprint":"` + testFingerprint[:70] + `"}`}, 400, "64"},
		{soundRequest{"PUT", "", "/v1/intents/i", "", `{"fingerprint":7}`}, 400, "fingerprint"},
		{soundRequest{"PUT", "", "/v1/intents/i", "", `{"retain":"193h"}`}, 400, "192h"},
		{soundRequest{"PUT", "", "/v1/intents/i", "", `{"retain":"0s"}`}, 400, "retain"},
		{soundRequest{"PUT", "", "/v1/intents/i", "", `{"retain":"-1h"}`}, 400, "retain"},
		{soundRequest{"PUT", "", "/v1/intents/i", "", `{"retain":"a week"}`}, 400, "a week"},
		{soundRequest{"PUT", "", "/v1/intents/i", "", `{"payload":"x"}`}, 400, "payload"},
		{soundRequest{"PUT", "", "/v1/intents/i?uid=root", "", ""}, 400, "uid"},
		{soundRequest{"PUT", "", "/v1/intents/i?uid=-1", "", ""}, 400, "uid"},
		{soundRequest{"PUT", "", "/v1/intents/i?uid=4294967296", "", ""}, 400, "uid"},
		{soundRequest{"DELETE", "", "/v1/streams/s/seqs/x", "", ""}, 400, "seq"},
		{soundRequest{"DELETE", "", "/v1/streams/s/seqs/01", "", ""}, 400, "seq"},
		{soundRequest{"DELETE", "", "/v1/streams/s/seqs/-1", "", ""}, 400, "seq"},
		{soundRequest{"POST", "", "/v1/streams/s/acked", "", ""}, 400, "below"},
		{soundRequest{"POST", "", "/v1/streams/s/acked", "", `{"below":-1}`}, 400, "below"},
		{soundRequest{"POST", "", "/v1/streams/s/edition", "", `{"above":"7"}`}, 400, "edition"},
		{soundRequest{"POST", "", "/v1/intents/i", "", ""}, 405, "PUT"},
	} {
		answer := s.serve(c.sent.request())
		code := map[int]string{400: "bad-request", 404: "not-found", 405: "method-not-allowed"}[c.status]
		if p := wantProblem(t, c.sent.target, answer, c.status, code); !strings.Contains(p.Detail, c.says) {
			t.Errorf("%+v: %q does not say %q", c.sent, p.Detail, c.says)
		}
	}
	if m.Commits() != before {
		t.Error("something was written")
	}
	for _, target := range []string{"%", "%2", "%zz", "a%"} {
		answers, _ := startServer(t, 0).raw("PUT /v1/intents/" + target + " HTTP/1.1\r\nHost: opmint\r\n\r\n")
		wantProblem(t, target, answers[0], 400, "bad-request")
	}
}

// TestOneIntentManyCallers: one name, one 201.
func TestOneIntentManyCallers(t *testing.T) {
	d := startServer(t, 0)
	const callers = 64
	statuses, names := make([]int, callers), make([]keygen.Name, callers)
	client := &api.Client{Socket: d.socket}
	var wait sync.WaitGroup
	for i := range callers {
		wait.Go(func() {
			got, err := client.NameIntent(t.Context(), "one", api.IntentRequest{})
			if err != nil {
				t.Error(err)
				return
			}
			if names[i] = got.Name; !got.Replayed {
				statuses[i] = http.StatusCreated
			}
		})
	}
	wait.Wait()
	slices.Sort(statuses)
	if statuses[callers-1] != 201 || statuses[callers-2] == 201 || len(slices.Compact(names)) != 1 {
		t.Errorf("answers %v, names %v", statuses, names)
	}
}

// TestMemoryFails: what cannot be stored is not named, and what is full says when
// to come again.
func TestMemoryFails(t *testing.T) {
	s, src := newServer(t, keygen.ClassH, 0)
	m := storetest.NewMemory()
	in := newIntents(t, src, m)
	in.MaxIntents = 1
	s.Intents = in
	put := func(target string) *http.Response { return s.serve(requestAs(caller{}, "PUT", target, "")) }
	m.Fail(1, storetest.Refuse)
	p := wantProblem(t, "a full disk", put("/v1/intents/i"), 503, "unavailable")
	if !strings.Contains(p.Detail, storetest.ErrFault.Error()) {
		t.Errorf("%q", p.Detail)
	}
	if answer := put("/v1/intents/i"); answer.StatusCode != 201 {
		t.Errorf("%s", answer.Status)
	}
	for _, target := range []string{"/v1/intents/j", "/v1/streams/s/names/j"} {
		answer := put(target)
		wantProblem(t, "a quota", answer, 429, "overloaded")
		if answer.Header.Get("Retry-After") != "60" {
			t.Errorf("%v", answer.Header)
		}
	}
	m.Close()
	wantProblem(t, "no store", put("/v1/intents/i"), 503, "unavailable")
}
