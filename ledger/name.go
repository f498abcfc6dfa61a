package ledger

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/opmint/opmint/keygen"
)

// name is an operation's name in its one spelling.
type name struct {
	text   string
	parsed keygen.Name // zero for a foreign key
}

// floored reports whether the name is subject to floors: it was minted, and is no
// child.
func (n name) floored() bool { return n.parsed.Minted() && len(n.text) == keygen.Length }

// tagged is how much of a minted name comes before its tag, and tagEnd before its
// check: forks agree in the first, and differ in what is between.
const (
	tagged = len("h1-emhwdgg60rf5x9vn4a-00000001-00000000-")
	tagEnd = tagged + len("r4trds3k1d7z9ygz")
)

// hash stands for the name in a tombstone.
func (n name) hash() (h [16]byte) {
	sum := sha256.Sum256([]byte(n.text))
	return [16]byte(sum[:])
}

var likeUUID = regexp.MustCompile(
	`^(?i)(?:urn:uuid:)?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$`)

// likeName reports whether a text begins like a name, in capitals or not.
func likeName(text string) bool {
	return len(text) >= 3 && text[0]|0x20 >= 'a' && text[0]|0x20 <= 'z' &&
		text[1] >= '0' && text[1] <= '9' && text[2] == '-'
}

// parseName returns the name that a text stands for. Errors are ErrInvalid, and do
// not repeat the text, which may be somebody's secret.
func parseName(text string) (name, error) {
	if likeName(text) {
		parsed, err := keygen.Parse(text)
		if err != nil {
			return name{}, invalid("name: it begins like a minted name; %w", err)
		}
		return name{text: parsed.String(), parsed: parsed}, nil
	}
	if err := validText(text, MaxName); err != nil {
		return name{}, invalid("name: %w", err)
	}
	if i := strings.IndexFunc(text, unicode.IsControl); i >= 0 {
		return name{}, invalid("name: a control character at byte %d", i+1)
	}
	if strings.TrimSpace(text) != text {
		return name{}, invalid("name: white space at its beginning or end")
	}
	if uuid := likeUUID.FindStringSubmatch(text); uuid != nil {
		return name{text: strings.ToLower(uuid[1])}, nil
	}
	return name{text: strings.Clone(text)}, nil
}

// validText wants 1 to most bytes of UTF-8.
func validText(text string, most int) error {
	switch {
	case text == "":
		return errors.New("empty")
	case len(text) > most:
		return fmt.Errorf("%d bytes, at most %d", len(text), most)
	case !utf8.ValidString(text):
		return errors.New("not UTF-8")
	}
	return nil
}

func validScope(scope string) error {
	if err := validText(scope, MaxScope); err != nil {
		return invalid("scope: %w", err)
	}
	return nil
}

// invalid is a refusal of an argument.
func invalid(format string, args ...any) error {
	return &Refusal{Reason: ErrInvalid, Detail: fmt.Errorf(format, args...).Error()}
}
