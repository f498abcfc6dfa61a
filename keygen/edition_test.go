package keygen

import (
	"bytes"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
)

func TestEdition(t *testing.T) {
	for _, c := range []struct {
		number uint64
		random string
		want   string
	}{
		{0, "\x00\x00\x00\x00\x00\x00\x00\x00\x00", "00000000-0000000000000"},
		{7, "\xff\xff\xff\xff\xff\xff\xff\xff\xff", "00000007-zzzzzzzzzzzzz"},
		// 65 bits: all of the first eight bytes, and the first bit of the ninth.
		{MaxEpoch, "\x00\x00\x00\x00\x00\x00\x00\x00\x80", "zzzzzzzz-0000000000001"},
		{1 << 39, "\x08\x42\x10\x84\x21\x08\x42\x10\x7f", "g0000000-111111111111" + "0"},
	} {
		e, err := NewEdition(c.number, strings.NewReader(c.random))
		if err != nil || e.String() != c.want || e.Number() != c.number || e.IsZero() {
			t.Errorf("%d: %v, number %d, %v, want %s", c.number, e, e.Number(), err, c.want)
		}
		if again, err := ParseEdition(c.want); err != nil || again != e {
			t.Errorf("%s: %v, %v", c.want, again, err)
		}
	}
	if _, err := NewEdition(MaxEpoch+1, rand.Reader); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	broken := errors.New("broken")
	if _, err := NewEdition(1, iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Error(err)
	}
	var none Edition
	if _, err := none.MarshalText(); !errors.Is(err, ErrInvalid) || none.Number() != 0 || none.String() != "" {
		t.Errorf("no edition: %v", err)
	}
}

// FuzzParseEdition: what is accepted is printed back byte for byte.
func FuzzParseEdition(f *testing.F) {
	for _, text := range []string{
		"", "00000007-9m4hw2yq0c3tz", "00000007-9M4hw2yq0c3tz", "00000007_9m4hw2yq0c3tz", "00000007-9m4hw2yq0c3t", "0000000i-9m4hw2yq0c3tz",
		"00000007-9m4hw2yq0c3tzz", "0000000--9m4hw2yq0c3tz", " 0000007-9m4hw2yq0c3tz", "00000007-9m4hw2yq0c3t\x00",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var e Edition
		err := e.UnmarshalText([]byte(text))
		if err != nil {
			if !errors.Is(err, ErrInvalid) || !e.IsZero() {
				t.Errorf("%q: %v, %v", text, e, err)
			}
			return
		}
		again, err := e.MarshalText()
		if err != nil || !bytes.Equal(again, []byte(text)) {
			t.Errorf("%q is printed %q, %v", text, again, err)
		}
		if !strings.HasPrefix(text, naiveDigits(e.Number())+"-") {
			t.Errorf("%q has the number %d", text, e.Number())
		}
	})
}
