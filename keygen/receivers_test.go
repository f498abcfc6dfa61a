package keygen_test

import (
	"cmp"
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/opmint/opmint/keygen"
)

// rule is a receiver's rule as testdata/RECEIVERS.md states it, read without
// help from the package.
type rule struct {
	id, name string
	min, max int            // max 0: no limit
	key      *regexp.Regexp // what a whole key looks like
	shape    bool           // key says more than which characters there are
}

func (r rule) accepts(key string) bool {
	return len(key) >= r.min && (r.max == 0 || len(key) <= r.max) && r.key.MatchString(key)
}

const uuid = `[0-9a-f]{8}-[0-9a-f]{4}-V[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`

func uuidOf(version string) string { return strings.Replace(uuid, "V", version, 1) }

// keyOf maps the document's column "characters" to a regular expression for the
// whole key, and to whether it has a shape.
var keyOf = map[string]struct {
	pattern string
	shape   bool
}{
	"RFC 8941 String": {`"[ !#-\[\]-~]*"`, true},
	"any":             {`.*`, false},
	"–":               {`.*`, false},
	"ASCII 33–126":    {`[!-~]*`, false},
	"ASCII":           {`[ -~]*`, false},
	`ASCII; some APIs UUID only, some "UUID4", zero UUID refused`: {uuidOf("4"), true},
	"**valid v4 UUID**":                             {uuidOf("4"), true},
	"`format: uuid`; Gravitino validates **v7**":    {uuidOf("7"), true},
	"GUID (OASIS: opaque)":                          {uuidOf("[0-9a-f]"), true},
	"25-char or UUID":                               {uuidOf("[0-9a-f]"), true},
	"Squarespace: `[A-Za-z0-9_-]`":                  {`[A-Za-z0-9_-]*`, false},
	"`[A-Za-z0-9:_-]`, plus timestamp ±60 s":        {`[A-Za-z0-9:_-]*`, false},
	"alnum + punctuation":                           {`[[:alnum:][:punct:]]*`, false},
	"in the name of the row: [a-z0-9-], 20 and 128": {`[a-z0-9-]*`, false},
}

// smallest returns the smallest length that a cell of the table speaks of, or 0.
func smallest(cell string) int {
	var all []int
	for _, digits := range regexp.MustCompile(`\b[0-9]+\b`).FindAllString(cell, -1) {
		n, _ := strconv.Atoi(digits)
		all = append(all, n)
	}
	if len(all) == 0 {
		return 0
	}
	return slices.Min(all)
}

func documentedRules(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile("../testdata/RECEIVERS.md")
	if err != nil {
		t.Fatal(err)
	}
	var rules []rule
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 5 || strings.Contains(line, "---") || strings.Contains(line, "| id |") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		r := rule{id: cells[0], name: cells[1], min: smallest(cells[2]), max: smallest(cells[3])}
		if strings.Contains(r.name, "[a-z0-9-]{20,255}") && strings.Contains(r.name, "Plaid 128") {
			r.min, r.max, cells[4] = 20, 128, "in the name of the row: [a-z0-9-], 20 and 128"
		}
		key, ok := keyOf[cells[4]]
		if !ok {
			t.Fatalf("%s: no regular expression for %q", r.id, cells[4])
		}
		r.key, r.shape = regexp.MustCompile(`^(?s:`+key.pattern+`)$`), key.shape
		rules = append(rules, r)
	}
	return rules
}

func TestReceiversAreThoseOfTheDocument(t *testing.T) {
	rules, receivers := documentedRules(t), keygen.Receivers()
	if len(rules) != 21 || len(receivers) != len(rules) {
		t.Fatalf("%d rows in the document, %d receivers, want 21 of each", len(rules), len(receivers))
	}
	for i, doc := range rules {
		r := receivers[i]
		if r.ID != doc.id || r.Min != doc.min || r.Max != doc.max {
			t.Errorf("row %d: %s, %d to %d; the document has %s, %d to %d", i, r.ID, r.Min, r.Max, doc.id, doc.min, doc.max)
		}
		for _, word := range strings.FieldsFunc(r.Name, func(c rune) bool { return c == ' ' || c == ',' }) {
			if !strings.Contains(doc.name, word) {
				t.Errorf("%s: %q is not in the document's %q", r.ID, word, doc.name)
			}
		}
		set := regexp.MustCompile(`^[` + cmp.Or(r.Characters, `\x00-\x{10ffff}`) + `]*$`)
		for c := range 256 {
			s := string(rune(c))
			if !doc.shape && set.MatchString(s) != doc.key.MatchString(s) {
				t.Errorf("%s: character %q: the table and the document differ", r.ID, s)
			}
		}
	}
}

// namesOfAllLengths returns names of every class, each with children of every
// length that a name can have.
func namesOfAllLengths(t *testing.T) []keygen.Name {
	t.Helper()
	roots := []string{
		"h1-emhwdgg60rf5x9vn4a-00000001-00000000-r4trds3k1d7z9ygzca",
		"h1-emhwdgg60rf5x9vn4a-zzzzzzzz-zzzzzzzz-dmjwhyreyd9y0wmh7d",
		"s1-9b5b4wc2gktwxhk4hvfq2nettx20hcbxgdrcct3wc95jwhwkb2q3a5a",
	}
	for _, class := range []keygen.Class{keygen.ClassV, keygen.ClassJ} {
		id := keygen.NewIdentity([32]byte{1}, [32]byte{2}, [16]byte{byte(class)})
		l, err := keygen.NewLease(keygen.Terms{Class: class, Identity: id, Epoch: 7, First: 9, Count: 1})
		if err != nil {
			t.Fatal(err)
		}
		n, err := l.Name(0)
		if err != nil {
			t.Fatal(err)
		}
		roots = append(roots, n.String())
	}
	const labels = "_step-1-of-2-abcdefghijklmnopqrst_0-undo-vwxyz-0123456789_qrs_tu-v_w-x"
	var names []keygen.Name
	for _, root := range roots {
		for n := range len(labels) + 1 {
			if n == 1 {
				continue // 59 characters: no name
			}
			text := root + labels[:n]
			if strings.HasSuffix(text, "_") {
				text = text[:len(text)-2] + "_a" // as long, without an empty label
			}
			name, err := keygen.Parse(text)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			names = append(names, name)
		}
	}
	return names
}

// TestFitIsAcceptedByEachReceiver holds the chosen format of every name against
// the document's rule, and that of every format passed over.
func TestFitIsAcceptedByEachReceiver(t *testing.T) {
	names := namesOfAllLengths(t)
	used := map[string]bool{}
	for i, doc := range documentedRules(t) {
		r := keygen.Receivers()[i]
		for _, n := range names {
			format, err := r.Fit(n)
			if err != nil {
				t.Fatalf("%s: %s: %v", doc.id, n, err)
			}
			used[r.ID+string(format)] = true
			for _, f := range r.Formats {
				text, err := n.Render(f)
				if err != nil {
					t.Fatal(err)
				}
				if doc.accepts(text) != (f == format) {
					t.Fatalf("%s: %s is %s; as %s, accepted is %v", doc.id, n, format, f, doc.accepts(text))
				}
				if f == format {
					break
				}
			}
		}
		for _, f := range r.Formats {
			if !used[r.ID+string(f)] {
				t.Errorf("%s: no name is ever rendered as %s", r.ID, f)
			}
		}
	}
}

func TestFitNamesTheRuleThatIsBroken(t *testing.T) {
	n, err := keygen.Semantic("coil", "7")
	if err != nil {
		t.Fatal(err)
	}
	native := []keygen.Format{keygen.FormatNative}
	child, err := n.Child("undo")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		r    keygen.Receiver
		n    keygen.Name
		want string
	}{
		{keygen.Receiver{ID: "x", Min: 59, Formats: native}, n, "as native: receiver x takes at least 59 characters, not 58"},
		{keygen.Receiver{ID: "x", Max: 57, Formats: native}, n, "as native: receiver x takes at most 57 characters, not 58"},
		{keygen.Receiver{ID: "x", Characters: "a-z0-9-", Formats: native}, child,
			"as native: receiver x takes the characters [a-z0-9-], not '_' in column 59"},
		{keygen.Receiver{ID: "x"}, n, "receiver x takes no format of ours"},
		{keygen.Receiver{ID: "x", Formats: native}, keygen.Name{}, "the zero Name has no text"},
	} {
		format, err := c.r.Fit(c.n)
		if format != "" || !errors.Is(err, keygen.ErrInvalid) || err.Error() != c.want {
			t.Errorf("%+v: %q, %v; want %q", c.r, format, err, c.want)
		}
	}
}

func TestFindReceiver(t *testing.T) {
	for _, want := range keygen.Receivers() {
		if r, err := keygen.FindReceiver(want.ID); err != nil || r.Name != want.Name {
			t.Errorf("%s: %v, %v", want.ID, r, err)
		}
	}
	if _, err := keygen.FindReceiver("nobody"); !errors.Is(err, keygen.ErrInvalid) {
		t.Errorf("nobody: %v", err)
	}
}

func TestReceiversIsTheCallersToChange(t *testing.T) {
	for _, r := range keygen.Receivers() {
		r.Formats[0] = "changed"
	}
	for _, r := range keygen.Receivers() {
		if r.Formats[0] == "changed" {
			t.Errorf("%s: the table changed", r.ID)
		}
	}
}
