package keygen

import (
	"fmt"
	"io"
	"strings"
)

// editionLength is the length of an Edition's text: 8 digits, '-', 13 digits.
const editionLength = 8 + 1 + 13

// Edition is one unbroken life of a stream of names towards one receiver:
//
//	00000007-9m4hw2yq0c3tz
//	epoch    random
//
// Editions are ordered by the number in them, which is an epoch, or above one;
// the 65 random bits tell apart those that were drawn in two histories of one
// sender. An Edition is comparable; the zero Edition is none.
type Edition struct{ text string }

// NewEdition draws an edition with a number of 0 to [MaxEpoch], which else is an
// [ErrInvalid].
func NewEdition(number uint64, random io.Reader) (Edition, error) {
	if number > MaxEpoch {
		return Edition{}, invalid("edition %d: the highest is %d", number, MaxEpoch)
	}
	var drawn [9]byte
	if _, err := io.ReadFull(random, drawn[:]); err != nil {
		return Edition{}, fmt.Errorf("draw an edition: %w", err)
	}
	text := make([]byte, editionLength)
	putDigits40(text, number)
	text[8] = '-'
	putDigits(text[9:], drawn[:])
	return Edition{string(text)}, nil
}

// ParseEdition reads an edition. It accepts exactly what String returns; all else
// is an [ErrInvalid].
func ParseEdition(text string) (Edition, error) {
	if len(text) != editionLength {
		return Edition{}, invalid("edition of %d characters: it has %d", len(text), editionLength)
	}
	for i := range editionLength {
		if i == 8 && text[i] != '-' || i != 8 && digitValues[text[i]] == notADigit {
			return Edition{}, invalid("edition %.40q: it is 8 digits, '-' and 13 digits; character %d is wrong", text, i+1)
		}
	}
	return Edition{strings.Clone(text)}, nil
}

// String returns the edition's 22 characters, and none of the zero Edition.
func (e Edition) String() string { return e.text }

// Number returns what editions are ordered by, and 0 of the zero Edition.
func (e Edition) Number() uint64 {
	if e.IsZero() {
		return 0
	}
	return digits40(e.text)
}

// IsZero reports whether e is none.
func (e Edition) IsZero() bool { return e.text == "" }

// MarshalText returns what String does. The zero Edition has no text.
func (e Edition) MarshalText() ([]byte, error) {
	if e.IsZero() {
		return nil, invalid("no edition has no text")
	}
	return []byte(e.text), nil
}

// UnmarshalText does what ParseEdition does.
func (e *Edition) UnmarshalText(text []byte) (err error) {
	*e, err = ParseEdition(string(text))
	return err
}
