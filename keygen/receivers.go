package keygen

import (
	"fmt"
	"slices"
)

// Receiver is a service that takes idempotency keys, and what it takes as one.
type Receiver struct {
	ID   string `json:"id"`   // for the command line, such as "aws-fsx"
	Name string `json:"name"` // for people

	Min int `json:"min"`          // the least length of a key, in characters
	Max int `json:"max,omitzero"` // the greatest, inclusive; 0: no limit

	// Characters are those that a key may have, written as in a regular
	// expression's brackets, with a '-' last: "A-Za-z0-9_-". Empty: any.
	Characters string `json:"characters,omitzero"`

	// Formats are the spellings that may suit the receiver, best first. A
	// receiver that insists on one shape, such as a UUID of version 4, has
	// that one only.
	Formats []Format `json:"formats"`

	Note string `json:"note,omitzero"` // what else there is to know, or ""
}

// Fit returns the first of the receiver's formats in which the receiver takes n.
// Long children can need another format than their parents, so it is chosen for
// each name; it is the same on every retry. Where no format fits, the error is
// an [ErrInvalid] that names the rule that the last one breaks.
func (r Receiver) Fit(n Name) (Format, error) {
	err := invalid("receiver %s takes no format of ours", r.ID)
	for _, f := range r.Formats {
		var text string
		if text, err = n.Render(f); err != nil {
			return "", err
		}
		if err = r.check(text); err == nil {
			return f, nil
		}
		err = invalid("as %s: receiver %s %w", f, r.ID, err)
	}
	return "", err
}

// check returns the rule of the receiver that text breaks, or nil.
func (r Receiver) check(text string) error {
	switch {
	case len(text) < r.Min:
		return fmt.Errorf("takes at least %d characters, not %d", r.Min, len(text))
	case r.Max > 0 && len(text) > r.Max:
		return fmt.Errorf("takes at most %d characters, not %d", r.Max, len(text))
	case r.Characters == "":
		return nil
	}
	for i := range len(text) {
		if !inBrackets(r.Characters, text[i]) {
			return fmt.Errorf("takes the characters [%s], not %q in column %d", r.Characters, text[i], i+1)
		}
	}
	return nil
}

// inBrackets reports whether set, as in a regular expression's brackets, has c.
func inBrackets(set string, c byte) bool {
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			if set[i] <= c && c <= set[i+2] {
				return true
			}
			i += 2
		} else if set[i] == c {
			return true
		}
	}
	return false
}

// FindReceiver returns the receiver with the given ID. Anything else is an
// [ErrInvalid].
func FindReceiver(id string) (Receiver, error) {
	all := Receivers()
	i := slices.IndexFunc(all, func(r Receiver) bool { return r.ID == id })
	if i < 0 {
		return Receiver{}, invalid("receiver %.40q is not in the table", id)
	}
	return all[i], nil
}
