package keygen

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrInvalid is matched by every error that says that an argument cannot be what
// it is given as: a name, a label, a format, a receiver, an identity, a class,
// the terms of a lease, the config of a minter.
var ErrInvalid = errors.New("invalid")

// invalidError is an ErrInvalid whose text is all in the reason.
type invalidError struct{ error }

func (e invalidError) Is(target error) bool { return target == ErrInvalid }

func (e invalidError) Unwrap() error { return e.error }

// invalid returns an ErrInvalid with the given text.
func invalid(format string, args ...any) error {
	return invalidError{fmt.Errorf(format, args...)}
}

// ParseError says why a text is not a name, and where.
type ParseError struct {
	Column int    // of the first character that is wrong, from 1, in bytes
	Reason string // what is wrong there, for a person
}

// Error returns the column and the reason, and not the text, which may be long
// and somebody's secret.
func (e *ParseError) Error() string {
	return fmt.Sprintf("not a name: column %d: %s", e.Column, e.Reason)
}

// Is makes every ParseError an [ErrInvalid].
func (e *ParseError) Is(target error) bool { return target == ErrInvalid }

// Parse reads a name. It accepts exactly the texts that [Name.String] prints: no
// upper case, no spaces, no quotes, no other spelling. The error is a
// [*ParseError] for the first character that is wrong. The Name keeps none of the
// memory that text is a part of.
func Parse(text string) (Name, error) {
	if err := check(text); err != nil {
		return Name{}, err
	}
	return Name{text: strings.Clone(text)}, nil
}

// check is nil for the texts of names.
func check(text string) error {
	for i := range min(len(text), Length) {
		if reason := wrongAt(text, i); reason != "" {
			return &ParseError{Column: i + 1, Reason: reason}
		}
	}
	if len(text) < Length {
		return &ParseError{
			Column: len(text) + 1,
			Reason: fmt.Sprintf("truncated: %d of %d characters", len(text), Length),
		}
	}
	if !checkMatches(text) {
		return &ParseError{
			Column: checkAt + 1,
			Reason: "mistyped: the check digits do not fit the characters before them",
		}
	}
	return checkLabels(text)
}

// wrongAt says what is wrong with character i < 58 of text given the characters
// before it, or "".
func wrongAt(text string, i int) string {
	c := text[i]
	switch {
	case i == 0 && !Class(c).minted() && Class(c) != ClassS:
		return explain(text, i, "unknown class: a name begins with h, v, j or s")
	case i == 0:
		return ""
	case i == 1 && c != '1':
		return explain(text, i, "unknown version: this program knows version 1")
	case i == 1:
		return ""
	case isSeparator(Class(text[0]), i):
		if c != '-' {
			return explain(text, i, "wrong separator: '-' stands here")
		}
		return ""
	case digitValues[c] == notADigit:
		return notDigitReason(text[i:])
	}
	return ""
}

// isSeparator reports whether a '-' stands at index i of a name of class c.
func isSeparator(c Class, i int) bool {
	return i == identityAt-1 || c.minted() && (i == epochAt-1 || i == seqAt-1 || i == tagAt-1)
}

// explain prefers what people do wrong as a whole (capitals, quotes, spaces) to
// the rule that the character breaks.
func explain(text string, i int, rule string) string {
	if reason := commonMistake(text[i:]); reason != "" {
		return reason
	}
	return rule
}

// commonMistake says what people do wrong with a whole text, if its first
// character tells, or "".
func commonMistake(text string) string {
	switch r, _ := utf8.DecodeRuneInString(text); {
	case r >= 'A' && r <= 'Z':
		return fmt.Sprintf("upper case %q: names are lower case", r)
	case strings.ContainsRune("\"'`“”‘’", r):
		return "quoted: a name has no quotes"
	case unicode.IsSpace(r):
		return fmt.Sprintf("white space %q: a name has none", r)
	}
	return ""
}

// notDigitReason says why the first character of text is no digit.
func notDigitReason(text string) string {
	if reason := commonMistake(text); reason != "" {
		return reason
	}
	switch r, _ := utf8.DecodeRuneInString(text); r {
	case '_':
		return "truncated: a label begins before the name is complete"
	case '-':
		return "a separator where a digit stands"
	case 'i', 'l', 'o', 'u':
		return fmt.Sprintf("%q is not a digit: the alphabet leaves out i, l, o and u", r)
	default:
		return fmt.Sprintf("%q is not a digit", r)
	}
}
