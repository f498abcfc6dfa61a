package api_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/opmint/opmint/api"
)

func TestFingerprint(t *testing.T) {
	// Of the empty text and of "abc" (FIPS 180-2 appendix B.1).
	for payload, want := range map[string]string{
		"":    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"abc": "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
	} {
		f, err := api.FingerprintOf(strings.NewReader(payload))
		if err != nil || f.String() != want {
			t.Errorf("%q: %v, %v", payload, f, err)
		}
		var again api.Fingerprint
		if err := again.UnmarshalText([]byte(want)); err != nil || again != f {
			t.Errorf("%s: %v, %v", want, again, err)
		}
		for _, wrong := range []string{
			"", want[7:], strings.ToUpper(want), want + "0", want[:70], want[:70] + "g", "sha512" + want[6:], " " + want,
		} {
			if err := again.UnmarshalText([]byte(wrong)); err == nil {
				t.Errorf("%q is a fingerprint", wrong)
			}
		}
	}
	broken := errors.New("broken")
	if _, err := api.FingerprintOf(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestDuration(t *testing.T) {
	var d api.Duration
	if err := json.Unmarshal([]byte(`"168h"`), &d); err != nil || time.Duration(d) != 168*time.Hour {
		t.Errorf("%v, %v", d, err)
	}
	if text, err := json.Marshal(d); err != nil || string(text) != `"168h0m0s"` {
		t.Errorf("%s, %v", text, err)
	}
	for _, wrong := range []string{`"a week"`, `"7d"`, `""`, `168`} {
		if err := json.Unmarshal([]byte(wrong), &d); err == nil {
			t.Errorf("%s is a duration", wrong)
		}
	}
}
