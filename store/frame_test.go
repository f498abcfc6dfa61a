package store

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"
)

// The stored bytes are part of the file's format. The checksum of an empty key
// would be plain CRC-32C, whose check value is e3069283 for "123456789"
// (RFC 3720 B.4 has more); so the first row checks the algorithm, and the rest
// were computed by another implementation of it, bit by bit.
func TestFrame(t *testing.T) {
	for _, test := range []struct{ key, value, want string }{
		{"", "123456789", "e3069283" + hex.EncodeToString([]byte("123456789"))},
		{"k", "v", "9c95126776"},
		{"key", "value", "33440e2d76616c7565"},
		{"keyv", "alue", "c91d0b29616c7565"},
	} {
		if got := hex.EncodeToString(frame([]byte(test.key), []byte(test.value))); got != test.want {
			t.Errorf("frame(%q, %q) = %s, want %s", test.key, test.value, got, test.want)
		}
	}
}

func TestUnframeRefuses(t *testing.T) {
	key, value := []byte("key"), []byte("value")
	stored := frame(key, value)
	for i := range len(stored) * 8 {
		bad := bytes.Clone(stored)
		bad[i/8] ^= 1 << (i % 8)
		if v, err := unframe(key, bad); !errors.Is(err, ErrDamaged) {
			t.Errorf("bit %d turned: %q, %v", i, v, err)
		}
	}
	for n := range stored {
		if v, err := unframe(key, stored[:n]); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut to %d bytes: %q, %v", n, v, err)
		}
	}
	for _, other := range []string{"", "kez", "keyv", "ke"} {
		if v, err := unframe([]byte(other), stored); !errors.Is(err, ErrDamaged) {
			t.Errorf("under key %q: %q, %v", other, v, err)
		}
	}
}

// FuzzUnframe: what is accepted is what frame makes, byte for byte; and what
// frame makes is accepted.
func FuzzUnframe(f *testing.F) {
	f.Add([]byte("key"), []byte("value"))
	f.Add([]byte("key"), frame([]byte("key"), []byte("value")))
	f.Add([]byte(""), []byte(""))
	f.Fuzz(func(t *testing.T, key, data []byte) {
		value, err := unframe(key, data)
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("%v, want ErrDamaged", err)
		}
		if err == nil && !bytes.Equal(frame(key, value), data) {
			t.Errorf("%x under %x is accepted, and %x made of it", data, key, frame(key, value))
		}
		if ValidKey(key) != nil || len(data) == 0 || len(data) > MaxValue {
			return
		}
		if got, err := unframe(key, frame(key, data)); err != nil || !bytes.Equal(got, data) {
			t.Errorf("unframe(frame(%x)) = %x, %v", data, got, err)
		}
	})
}
