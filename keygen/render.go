package keygen

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Format is a spelling in which a name is handed to a receiver. Only the native
// one can be read back; a receiver sees two renderings of one name as two keys,
// so choose one and keep to it.
type Format string

// The formats. None of the UUIDs sorts by time.
const (
	FormatNative Format = "native" // the name itself, 58 to 128 characters
	FormatUUID   Format = "uuid"   // UUID version 8, 36 characters (RFC 9562 section 5.8)
	FormatUUID4  Format = "uuid4"  // shaped as version 4, for receivers that insist
	FormatUUID7  Format = "uuid7"  // shaped as version 7, for receivers that insist
	FormatHeader Format = "header" // structured-field string: the name in double quotes (RFC 9651 section 3.3.3)
)

// formats in the order in which they are shown.
var formats = []Format{FormatNative, FormatUUID, FormatUUID4, FormatUUID7, FormatHeader}

// Formats lists all formats.
func Formats() []Format { return slices.Clone(formats) }

// ParseFormat reads a format's name, such as "uuid7". Anything else is an
// [ErrInvalid] that lists what there is.
func ParseFormat(text string) (Format, error) {
	names := make([]string, len(formats))
	for i, f := range formats {
		if text == string(f) {
			return f, nil
		}
		names[i] = string(f)
	}
	return "", invalid("format %.40q: there are %s", text, strings.Join(names, ", "))
}

// uuidSpace is the namespace of the UUID renderings,
// e97b6bac-577c-4605-acbc-09ef44a03ce1.
var uuidSpace = [16]byte{0xe9, 0x7b, 0x6b, 0xac, 0x57, 0x7c, 0x46, 0x05, 0xac, 0xbc, 0x09, 0xef, 0x44, 0xa0, 0x3c, 0xe1}

// Render returns n in format f. The zero Name and an unknown format are an
// [ErrInvalid].
func (n Name) Render(f Format) (string, error) {
	b, err := n.AppendFormat(nil, f)
	return string(b), err
}

// AppendFormat appends n in format f to b, as [Name.Render] returns it.
func (n Name) AppendFormat(b []byte, f Format) ([]byte, error) {
	if n.IsZero() {
		return n.AppendText(b)
	}
	return AppendRendering(b, []byte(n.text), f)
}

// AppendRendering appends to b, in format f, the name whose text is name: from
// [Lease.AppendName], so that only its length is checked again. b and name may
// share memory only if b ends before name begins. An unknown format, and a length
// that no name has, are an [ErrInvalid].
func AppendRendering(b, name []byte, f Format) ([]byte, error) {
	if len(name) < Length || len(name) > MaxLength {
		return b, invalid("name of %d characters: %d to %d", len(name), Length, MaxLength)
	}
	switch f {
	case FormatNative:
		return append(b, name...), nil
	case FormatHeader:
		b = append(b, '"')
		b = append(b, name...)
		return append(b, '"'), nil
	case FormatUUID:
		return appendUUID(b, name, 8), nil
	case FormatUUID4:
		return appendUUID(b, name, 4), nil
	case FormatUUID7:
		return appendUUID(b, name, 7), nil
	}
	_, err := ParseFormat(string(f))
	return b, err
}

// appendUUID appends the first 16 bytes of SHA-256(namespace, name) as a UUID of
// the given version (RFC 9562 section 4).
func appendUUID(b, name []byte, version byte) []byte {
	var input [len(uuidSpace) + MaxLength]byte
	copy(input[:], uuidSpace[:])
	sum := sha256.Sum256(input[:len(uuidSpace)+copy(input[len(uuidSpace):], name)])
	sum[6] = sum[6]&0x0f | version<<4
	sum[8] = sum[8]&0x3f | 0x80
	for i, end := 0, 0; i < 16; i = end {
		if i > 0 {
			b = append(b, '-')
		}
		end = uuidGroupEnd(i)
		b = hex.AppendEncode(b, sum[i:end])
	}
	return b
}

// uuidGroupEnd returns where the group of a UUID's text that begins at byte i
// ends.
func uuidGroupEnd(i int) int {
	switch {
	case i < 4:
		return 4
	case i < 10:
		return i + 2
	}
	return 16
}
