package api

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// fingerprintPrefix begins a fingerprint's text; 64 hexadecimal digits follow.
const fingerprintPrefix = "sha256:"

// Fingerprint is the SHA-256 of the payload of an operation. Its text is sha256:
// and 64 hexadecimal digits, in lower case.
type Fingerprint [sha256.Size]byte

// FingerprintOf reads a payload to its end.
func FingerprintOf(payload io.Reader) (f Fingerprint, err error) {
	h := sha256.New()
	if _, err := io.Copy(h, payload); err != nil {
		return f, fmt.Errorf("read the payload: %w", err)
	}
	return Fingerprint(h.Sum(nil)), nil
}

// String returns the fingerprint's text.
func (f Fingerprint) String() string { return fingerprintPrefix + hex.EncodeToString(f[:]) }

// MarshalText returns what String does.
func (f Fingerprint) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText accepts what String returns, and no other spelling.
func (f *Fingerprint) UnmarshalText(text []byte) error {
	digits, ok := strings.CutPrefix(string(text), fingerprintPrefix)
	sum, err := hex.DecodeString(digits)
	if !ok || err != nil || len(sum) != len(f) || hex.EncodeToString(sum) != digits {
		return fmt.Errorf("%.80q is no fingerprint: %s and 64 hexadecimal digits in lower case", text, fingerprintPrefix)
	}
	copy(f[:], sum)
	return nil
}
