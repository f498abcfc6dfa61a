package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// TestStreamOverTheSocket: a sender's stream from its beginning to a new edition, by
// the client in Go.
func TestStreamOverTheSocket(t *testing.T) {
	d := startServer(t, 0)
	client, ctx := &api.Client{Socket: d.socket}, t.Context()
	const stream = "coils/7 ü"
	for i := range uint64(4) {
		for again := range 2 {
			got, err := client.NameInStream(ctx, stream, fmt.Sprint(i, "/.."))
			if err != nil || got.Stream != stream || got.Seq != i || got.Base != 0 || got.Replayed != (again > 0) || got.Void {
				t.Fatalf("%+v, %v", got, err)
			}
		}
	}
	for _, err := range []error{client.VoidSeq(ctx, stream, 2), client.Ack(ctx, stream, 2)} {
		if err != nil {
			t.Error(err)
		}
	}
	got, err := client.NameInStream(ctx, stream, "2/..")
	if err != nil || !got.Void || got.Base != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	above, err := keygen.ParseEdition("0000000z-0000000000000")
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := client.NewEdition(ctx, stream, above)
	if err != nil || drawn.Stream != stream || drawn.Base != 2 || drawn.Edition.Number() != 32 {
		t.Errorf("%+v, %v", drawn, err)
	}
	next, err := client.NewEdition(ctx, stream, keygen.Edition{})
	if err != nil || next.Edition.Number() != 33 {
		t.Errorf("%+v, %v", next, err)
	}
	if again, err := client.NameInStream(ctx, stream, "3/.."); err != nil || again.Edition != next.Edition || again.Seq != 3 {
		t.Errorf("%+v, %v", again, err)
	}
	for err, want := range map[error]error{
		client.VoidSeq(ctx, stream, 1): api.ErrExpired, client.VoidSeq(ctx, stream, 4): api.ErrNotFound,
		client.Ack(ctx, stream, 5): api.ErrBadRequest, client.Ack(ctx, "none", 0): api.ErrNotFound,
	} {
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// TestIntentByClient: an intent from its name to its end, by the client in Go.
func TestIntentByClient(t *testing.T) {
	d := startServer(t, 0)
	client, ctx := &api.Client{Socket: d.socket}, t.Context()
	if _, err := client.Intent(ctx, "i"); !errors.Is(err, api.ErrNotFound) {
		t.Error(err)
	}
	print, err := api.FingerprintOf(strings.NewReader("10 EUR"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := client.NameIntent(ctx, "i", api.IntentRequest{Fingerprint: &print})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := client.Intent(ctx, "i"); err != nil || got.Name != first.Name || *got.Fingerprint != print {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = client.NameIntent(ctx, "i", api.IntentRequest{Fingerprint: &api.Fingerprint{}})
	if !errors.Is(err, api.ErrFingerprintMismatch) ||
		!strings.Contains(err.Error(), print.String()) || !strings.Contains(err.Error(), (&api.Fingerprint{}).String()) {
		t.Error(err)
	}
	if err := client.DeleteIntent(ctx, "i"); err != nil {
		t.Error(err)
	}
	if err := client.DeleteIntent(ctx, "i"); !errors.Is(err, api.ErrNotFound) {
		t.Error(err)
	}
	if got, err := client.NameIntent(ctx, "i", api.IntentRequest{}); err != nil || got.Name == first.Name || got.Replayed {
		t.Errorf("%+v, %v", got, err)
	}
}

// FuzzIntent: any UTF-8 of 1 to 512 bytes is an intent of its own, told as it came;
// all else is a bad request.
func FuzzIntent(f *testing.F) {
	for _, intent := range []string{
		"charge order 7", "", ".", "..", "/", "a/../b", "%2e%2e", "\x00", "\n", "\xff", "é", "\ufffd", "\u202e",
		strings.Repeat("x", 512), strings.Repeat("x", 513), strings.Repeat("é", 256), strings.Repeat("é", 257), "?uid=1", "#",
	} {
		f.Add(intent)
	}
	s, _ := newServer(f, keygen.ClassH, 0)
	f.Fuzz(func(t *testing.T, intent string) {
		sound := intent != "" && len(intent) <= 512 && utf8.ValidString(intent)
		target := "/v1/intents/" + url.PathEscape(intent)
		for _, want := range []struct {
			method string
			status int
		}{{"PUT", 201}, {"PUT", 200}, {"GET", 200}, {"DELETE", 204}} {
			r := requestAs(caller{}, want.method, "/", "")
			r.RequestURI = target
			answer := s.serve(r)
			if !sound {
				wantProblem(t, target, answer, 400, "bad-request")
				continue
			}
			if answer.StatusCode != want.status {
				t.Fatalf("%s of %q: %s, want %d", want.method, intent, answer.Status, want.status)
			}
			if want.status == 204 {
				continue
			}
			if got := decoded[api.Intent](t, answer); got.Intent != intent {
				t.Errorf("%q is told as %q", intent, got.Intent)
			}
		}
	})
}

func decoded[T any](t testing.TB, answer *http.Response) (v T) {
	t.Helper()
	if err := json.NewDecoder(answer.Body).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}
