package keygen

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// labelSeparator stands before each label of a child's name.
const labelSeparator = '_'

// Child returns the name of a sub-operation of n: n, an underscore and label. It
// is the same on every retry and needs no daemon, so one request can name its
// steps and its compensation ("undo"). label is 1 to [MaxLabel] characters of
// a-z, 0-9 and '-'; the whole name at most [MaxLength] characters. Children nest.
// The check does not cover labels: a mistyped label is another child.
func (n Name) Child(label string) (Name, error) {
	if n.IsZero() {
		return Name{}, invalid("the zero Name has no children")
	}
	if i, reason := wrongInLabel(label); reason != "" {
		return Name{}, invalid("label, column %d: %s", i+1, reason)
	}
	text := n.text + string(labelSeparator) + label
	if len(text) > MaxLength {
		return Name{}, invalid("a child's name has at most %d characters, this one would have %d",
			MaxLength, len(text))
	}
	return Name{text: text}, nil
}

// Labels returns the labels of a child, outermost first; nil for a name that is
// no child.
func (n Name) Labels() []string {
	if len(n.text) <= Length {
		return nil
	}
	return strings.Split(n.text[Length+1:], string(labelSeparator))
}

// Parent returns the name that n is a child of, or the zero Name.
func (n Name) Parent() Name {
	if len(n.text) <= Length {
		return Name{}
	}
	return Name{text: n.text[:strings.LastIndexByte(n.text, labelSeparator)]}
}

// Root returns the name without any label: n itself if it is no child.
func (n Name) Root() Name {
	return Name{text: n.text[:min(len(n.text), Length)]}
}

// checkLabels checks what follows the first 58 characters of a name.
func checkLabels(text string) error {
	if len(text) > MaxLength {
		return &ParseError{
			Column: MaxLength + 1,
			Reason: fmt.Sprintf("too long: %d characters, at most %d", len(text), MaxLength),
		}
	}
	for at := Length; at < len(text); {
		if text[at] != labelSeparator {
			return &ParseError{Column: at + 1, Reason: afterName(text[at:])}
		}
		label, _, _ := strings.Cut(text[at+1:], string(labelSeparator))
		if i, reason := wrongInLabel(label); reason != "" {
			return &ParseError{Column: at + 1 + i + 1, Reason: reason}
		}
		at += 1 + len(label)
	}
	return nil
}

// afterName says what is wrong with text, which follows a complete name without
// the underscore of a label.
func afterName(text string) string {
	if digitValues[text[0]] != notADigit {
		return "too long: a name ends here, or a label follows after '_'"
	}
	reason := commonMistake(text)
	if reason == "" {
		r, _ := utf8.DecodeRuneInString(text)
		reason = fmt.Sprintf("%q does not belong here", r)
	}
	return reason + "; after a name only '_' and a label may follow"
}

// wrongInLabel returns the index of the first wrong character and what is wrong,
// or "".
func wrongInLabel(label string) (int, string) {
	for i := range min(len(label), MaxLabel) {
		c := label[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return i, notInLabel(label[i:])
		}
	}
	switch {
	case label == "":
		return 0, "empty label"
	case len(label) > MaxLabel:
		return MaxLabel, fmt.Sprintf("label too long: %d characters, at most %d", len(label), MaxLabel)
	}
	return 0, ""
}

// notInLabel says why the first character of text cannot stand in a label.
func notInLabel(text string) string {
	if reason := commonMistake(text); reason != "" {
		return reason
	}
	r, _ := utf8.DecodeRuneInString(text)
	return fmt.Sprintf("%q cannot stand in a label: a-z, 0-9 and '-' can", r)
}
