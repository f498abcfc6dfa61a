package api_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

var testTerms = keygen.Terms{
	Class: keygen.ClassV, Identity: keygen.NewIdentity([32]byte{1}, [32]byte{2}, [16]byte{3}),
	Epoch: 7, First: 41, Count: 3,
	Key: keygen.Key{0xfb, 0xff, 0xbf, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13},
}

// TestLeaseOnTheWire: the key is base64url without padding (RFC 4648 section 5),
// and both ends mint the same names.
func TestLeaseOnTheWire(t *testing.T) {
	text, err := json.Marshal(api.NewLease(testTerms, time.Second))
	want := `{"class":"v","identity":"` + testTerms.Identity.String() +
		`","epoch":7,"first":41,"count":3,"key":"-_-_AQIDBAUGBwgJCgsMDQ","expires_in_ms":1000}`
	if err != nil || string(text) != want {
		t.Fatalf("%s, %v, want\n%s", text, err, want)
	}
	var got api.Lease
	if err := json.Unmarshal(text, &got); err != nil || got.Terms() != testTerms || got.Life() != time.Second {
		t.Errorf("%+v, %v", got.Terms(), err)
	}
}

func TestLeaseKeys(t *testing.T) {
	for _, text := range []string{
		"", "-_-_AQIDBAUGBwgJCgsMDQ==", "+/+/AQIDBAUGBwgJCgsMDQ", "-_-_AQIDBAUGBwgJCgsMDR", "-_-_AQIDBAUGBwgJCgsMDQA",
		"-_-_AQIDBAUGBwgJCgsMD", "-_-_AQIDBAUGBwgJCgsM\nDQ", "-_-_AQIDBAUGBwgJCgsMDQ\n",
	} {
		var k api.LeaseKey
		if err := k.UnmarshalText([]byte(text)); err == nil || k != (api.LeaseKey{}) {
			t.Errorf("%q is accepted", text)
		}
	}
	l := api.NewLease(testTerms, time.Second)
	for _, format := range []string{"%v", "%+v", "%x", "%d", "%s"} {
		if got := fmt.Sprintf(format, l.Key); got != "[lease key]" {
			t.Errorf("%s prints %s", format, got)
		}
	}
}
