package ledger

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of a result.
const (
	MaxBody    = 1 << 20  // bytes of a body that is kept
	MaxHeaders = 64 << 10 // bytes of all names and values of headers, a byte for each of them added; beyond it is ErrInvalid
)

// Result is what came of an operation, to be answered again to whoever repeats it.
// It is shaped as an HTTP answer and can hold anything.
type Result struct {
	Status  int                 // 0 to 999
	Headers map[string][]string // names and values are UTF-8, and come back as they were given
	Body    []byte              // at most MaxBody bytes are kept

	// BodyOmitted: there was a body of more than MaxBody bytes, or who finished
	// could not keep it. Body is empty.
	BodyOmitted bool
}

// Fingerprint is the SHA-256 of a payload. The zero Fingerprint is none.
type Fingerprint [32]byte

const fingerprintPrefix = "sha256:"

// IsZero reports whether there is none.
func (f Fingerprint) IsZero() bool { return f == Fingerprint{} }

// String returns sha256: and 64 hex digits, or "" for none.
func (f Fingerprint) String() string {
	if f.IsZero() {
		return ""
	}
	return fingerprintPrefix + hex.EncodeToString(f[:])
}

// ParseFingerprint reads what String returns for a fingerprint; none, capitals and
// anything else are ErrInvalid.
func ParseFingerprint(text string) (Fingerprint, error) {
	var f Fingerprint
	digits, ok := strings.CutPrefix(text, fingerprintPrefix)
	raw, err := hex.DecodeString(digits)
	if ok && err == nil && len(raw) == len(f) {
		f = Fingerprint(raw)
	}
	if f.IsZero() || f.String() != text {
		return Fingerprint{}, fmt.Errorf("%w fingerprint %.80q: must be %s and 64 lower case hex digits",
			ErrInvalid, text, fingerprintPrefix)
	}
	return f, nil
}

// MarshalText returns what String does.
func (f Fingerprint) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText is ParseFingerprint.
func (f *Fingerprint) UnmarshalText(text []byte) (err error) {
	*f, err = ParseFingerprint(string(text))
	return err
}

func (r *Result) valid() error {
	if r.Status < 0 || r.Status > 999 {
		return invalid("result: status %d: must be 0 to 999", r.Status)
	}
	if r.BodyOmitted && len(r.Body) > 0 {
		return invalid("result: a body that is said to be omitted")
	}
	size := 0
	for header, values := range r.Headers {
		for _, text := range append([]string{header}, values...) {
			if !utf8.ValidString(text) {
				return invalid("result: header %.80q is not UTF-8", header)
			}
			size += len(text) + 1
		}
	}
	if size > MaxHeaders {
		return invalid("result: %d bytes of headers, at most %d", size, MaxHeaders)
	}
	return nil
}

// stored is a Result as a record.
type stored struct{ Result }

func (s *stored) append(b []byte) []byte {
	b = appendUints(b, uint64(s.Status), bit(s.BodyOmitted, 0), uint64(len(s.Headers)))
	for _, header := range slices.Sorted(maps.Keys(s.Headers)) {
		b = appendUints(appendText(b, header), uint64(len(s.Headers[header])))
		for _, value := range s.Headers[header] {
			b = appendText(b, value)
		}
	}
	return append(b, s.Body...)
}

func (s *stored) parse(p *parser) {
	s.Status, s.BodyOmitted = int(p.uintTo(999)), p.uintTo(1) > 0
	if n := p.uintTo(MaxHeaders); n > 0 {
		s.Headers = map[string][]string{}
		for range n {
			header := p.text(MaxHeaders)
			values := make([]string, p.uintTo(uint64(len(p.data))))
			for i := range values {
				values[i] = p.text(MaxHeaders)
			}
			s.Headers[header] = values
		}
	}
	if body := p.rest(); len(body) > 0 {
		s.Body = bytes.Clone(body)
	}
	p.need(!s.BodyOmitted || len(s.Body) == 0)
}
