package keygen

import (
	"fmt"
	"strings"
)

// Class says what a name's promise rests on: the first letter of the name.
type Class byte

// The classes. Names of class h survive any loss of state, those of v and j do but for
// chance (2^-80), and s is the content itself.
const (
	ClassH Class = 'h' // minted from a physical TPM
	ClassV Class = 'v' // minted beside a virtual, shared or unknown TPM
	ClassJ Class = 'j' // minted from a journal, without a TPM
	ClassS Class = 's' // semantic: named by its content
)

// String returns the class's letter, or something like Class(0) where there is no
// such class.
func (c Class) String() string {
	if !c.minted() && c != ClassS {
		return fmt.Sprintf("Class(%d)", byte(c))
	}
	return string(rune(c))
}

// MarshalText returns the class's letter. Anything but the four classes is an
// [ErrInvalid].
func (c Class) MarshalText() ([]byte, error) {
	if !c.minted() && c != ClassS {
		return nil, invalid("%v: there are h, v, j and s", c)
	}
	return []byte{byte(c)}, nil
}

// UnmarshalText reads what MarshalText returns. Anything else is an
// [ErrInvalid].
func (c *Class) UnmarshalText(text []byte) error {
	if len(text) != 1 {
		return invalid("class %.40q: there are h, v, j and s", text)
	}
	if _, err := Class(text[0]).MarshalText(); err != nil {
		return err
	}
	*c = Class(text[0])
	return nil
}

// minted reports whether names of class c come from a counter.
func (c Class) minted() bool { return c == ClassH || c == ClassV || c == ClassJ }

// Limits of the numbers in a name, both inclusive: 40 bits each.
const (
	MaxEpoch uint64 = 1<<40 - 1
	MaxSeq   uint64 = 1<<40 - 1
)

// Lengths of names in characters.
const (
	Length    = 58  // a name without labels
	MaxLength = 128 // a name with all its labels
	MaxLabel  = 32  // one label
)

// Where the parts of a minted name begin, in bytes.
const (
	identityAt = 3
	epochAt    = 22
	seqAt      = 31
	tagAt      = 40
	checkAt    = 56
)

// Name is the name of one operation: a minted name, a semantic name, or a child
// of either. Names are comparable with == and usable as map keys. The zero Name
// is no name; all others come from this package and are valid.
type Name struct {
	text string
}

// String returns the name's one spelling, or "" for the zero Name.
func (n Name) String() string { return n.text }

// IsZero reports whether n is the zero Name.
func (n Name) IsZero() bool { return n.text == "" }

// Compare orders names as their texts: minted names of one identity in mint
// order, and all descendants of a name behind it, before the next minted name.
// It returns -1, 0 or +1.
func (n Name) Compare(other Name) int { return strings.Compare(n.text, other.text) }

// Class returns the name's class, or 0 for the zero Name.
func (n Name) Class() Class {
	if n.IsZero() {
		return 0
	}
	return Class(n.text[0])
}

// Minted reports whether the name came from a counter, that is whether it has
// an identity, an epoch, a seq and a tag. Children of minted names have those of
// their root.
func (n Name) Minted() bool { return n.Class().minted() }

// Identity returns whose name it is, or the zero Identity for a name that was
// not minted.
func (n Name) Identity() Identity {
	if !n.Minted() {
		return Identity{}
	}
	return Identity{digits: [identityDigits]byte([]byte(n.text[identityAt:]))}
}

// Epoch returns the counter value under which the name was minted, 0 to
// [MaxEpoch]; 0 for a name that was not minted.
func (n Name) Epoch() uint64 {
	if !n.Minted() {
		return 0
	}
	return digits40(n.text[epochAt:])
}

// Seq returns the number within the epoch, 0 to [MaxSeq]; 0 for a name that was
// not minted.
func (n Name) Seq() uint64 {
	if !n.Minted() {
		return 0
	}
	return digits40(n.text[seqAt:])
}

// Tag returns the 16 digits that nobody can guess, or "" for a name that was not
// minted. Two tags for one (identity, epoch, seq) are a fork: the minter was
// cloned or rolled back.
func (n Name) Tag() string {
	if !n.Minted() {
		return ""
	}
	return n.text[tagAt:checkAt]
}

// AppendText appends the name to b. The zero Name is an [ErrInvalid].
func (n Name) AppendText(b []byte) ([]byte, error) {
	if n.IsZero() {
		return b, invalid("the zero Name has no text")
	}
	return append(b, n.text...), nil
}

// MarshalText returns the name's text. The zero Name is an [ErrInvalid].
func (n Name) MarshalText() ([]byte, error) { return n.AppendText(nil) }

// UnmarshalText is [Parse].
func (n *Name) UnmarshalText(b []byte) error {
	text := string(b)
	if err := check(text); err != nil {
		return err
	}
	n.text = text
	return nil
}
