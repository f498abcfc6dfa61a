package api_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/opmint/opmint/api"
)

// TestBodies: a body is a string where it can be one.
func TestBodies(t *testing.T) {
	for _, c := range []struct{ body, wire string }{
		{"", `""`}, {"naïve\n", `"naïve\n"`}, {"a\x00b", `"a\u0000b"`}, {"\x00\xff", `{"base64":"AP8"}`},
		{"\xff\xfe\xfd\xfc", `{"base64":"__79_A"}`},
	} {
		wire, err := json.Marshal(api.Body(c.body))
		if err != nil || string(wire) != c.wire {
			t.Errorf("%q: %s, %v", c.body, wire, err)
		}
	}
}

// TestBodiesRoundTrip: whatever a body is, it comes back, and does not grow by more
// than a third.
func TestBodiesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		if rapid.Bool().Draw(t, "text") {
			body = []byte(rapid.String().Draw(t, "body"))
		}
		wire, err := json.Marshal(api.Body(body))
		if err != nil {
			t.Fatal(err)
		}
		var back api.Body
		if err := json.Unmarshal(wire, &back); err != nil || !bytes.Equal(back, body) {
			t.Fatalf("%q became %s and %q, %v", body, wire, back, err)
		}
		if len(wire) > len(body)*4/3+80 {
			t.Fatalf("%d bytes became %d", len(body), len(wire))
		}
	})
}

// TestNoBodies: what is no body is refused.
func TestNoBodies(t *testing.T) {
	for _, wire := range []string{
		`1`, `[]`, `{}`, `{"base64":1}`, `{"base64":"AP8="}`, `{"base64":"+/79/A"}`, `{"base64":"AP9"}`,
		`{"base64":"AP8","more":1}`,
	} {
		var b api.Body
		if err := json.Unmarshal([]byte(wire), &b); err == nil {
			t.Errorf("%s became %q", wire, b)
		}
	}
}
