package keygen

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// sample is the first name of the vectors.
const sample = "h1-emhwdgg60rf5x9vn4a-00000001-00000000-r4trds3k1d7z9ygzca"

func TestParseSaysWhatIsWrongAndWhere(t *testing.T) {
	long := strings.Repeat("a", MaxLabel)
	for _, c := range []struct {
		text   string
		column int
		says   string
	}{
		{"", 1, "truncated: 0 of 58"},
		{"h", 2, "truncated: 1 of 58"},
		{sample[:57], 58, "truncated: 57 of 58"},
		{sample[:32], 33, "truncated: 32 of 58"},
		{sample[:50] + "_undo", 51, "truncated: a label begins"},
		{strings.ToUpper(sample), 1, "upper case 'H'"},
		{sample[:20] + "A" + sample[21:], 21, "upper case 'A'"},
		{`"` + sample + `"`, 1, "quoted"},
		{sample + `"`, 59, "quoted"},
		{" " + sample, 1, "white space"},
		{sample + "\n", 59, `white space '\n'`},
		{"x" + sample[1:], 1, "unknown class"},
		{"h2" + sample[2:], 2, "unknown version"},
		{"h1:" + sample[3:], 3, "wrong separator"},
		{sample[:30] + "i" + sample[31:], 31, "wrong separator"},
		{sample[:10] + "u" + sample[11:], 11, "leaves out i, l, o and u"},
		{sample[:5] + "é" + sample[7:], 6, `'é' is not a digit`},
		{sample[:40] + "-" + sample[41:], 41, "a separator where a digit stands"},
		{sample[:57] + "0", 57, "mistyped"},
		{sample[:9] + sample[10:11] + sample[9:10] + sample[11:], 57, "mistyped"},
		{sample + "0", 59, "too long"},
		{sample + ".undo", 59, "only '_' and a label may follow"},
		{sample + "\x00", 59, `'\x00' does not belong here`},
		{sample + "é", 59, `'é' does not belong here`},
		{sample + "\u00a0", 59, `white space '\u00a0'`},
		{sample[:2] + "–" + sample[3:], 3, "wrong separator"},
		{"“" + sample + "”", 1, "quoted"},
		{sample + "_", 60, "empty label"},
		{sample + "_undo_", 65, "empty label"},
		{sample + "_undo__x", 65, "empty label"},
		{sample + "_uNdo", 61, `upper case 'N'`},
		{sample + "_undo\n", 64, `white space '\n'`},
		{sample + "_un.do", 62, `'.' cannot stand in a label`},
		{sample + "_ué", 61, `'é' cannot stand in a label`},
		{sample + "_" + long + "a", 92, "label too long: 33 characters"},
		{sample + "_" + long + "_" + long + "_abcd", 129, "too long: 129 characters"},
	} {
		_, err := Parse(c.text)
		var parse *ParseError
		if !errors.As(err, &parse) || !errors.Is(err, ErrInvalid) {
			t.Errorf("Parse(%q) = %v, want a ParseError", c.text, err)
			continue
		}
		if parse.Column != c.column || !strings.Contains(parse.Reason, c.says) {
			t.Errorf("Parse(%q): column %d: %s, want column %d: …%s…", c.text, parse.Column, parse.Reason, c.column, c.says)
		}
	}
}

func FuzzParse(f *testing.F) {
	v := readVectors(f)
	for _, x := range v.Valid {
		f.Add(x.Name)
	}
	for _, x := range v.Invalid {
		f.Add(x.Text)
	}
	for _, x := range v.Children {
		f.Add(x.Name)
	}
	for _, x := range v.Semantic {
		f.Add(x.Name)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := Parse(text)
		if err != nil {
			if !errors.Is(err, ErrInvalid) || !n.IsZero() {
				t.Fatalf("Parse(%q) = %q, %v", text, n, err)
			}
			return
		}
		if n.String() != text {
			t.Fatalf("Parse(%q) prints %q", text, n)
		}
		if rebuilt := rebuild(t, n); rebuilt != text {
			t.Fatalf("%q is %q when put together from its parts", text, rebuilt)
		}
	})
}

// rebuild puts a name together from what its methods say, by another way than
// the one that made it. So no two texts can be one Name: a Name's parts fix its
// text.
func rebuild(t *testing.T, n Name) string {
	t.Helper()
	text := n.Root().String()
	if n.Minted() {
		text = n.Class().String() + "1-" + n.Identity().String() + "-" +
			naiveDigits(n.Epoch()) + "-" + naiveDigits(n.Seq()) + "-" + n.Tag()
		text += naiveCheck(text)
	}
	for _, label := range n.Labels() {
		text += "_" + label
	}
	return text
}

func TestTypingErrorsAreRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		name := []byte(randomName(r).String())
		refused := func(what string, i int) {
			if n, err := Parse(string(name)); err == nil {
				t.Fatalf("%s at column %d gives the name %s", what, i+1, n)
			}
		}
		for i, c := range name {
			wrong := alphabet[(int(digitValues[c])+1+r.IntN(31))&31]
			if c == '-' {
				wrong = alphabet[r.IntN(32)]
			}
			name[i] = wrong
			refused("a wrong digit", i)
			name[i] = c
			if i > 0 && name[i-1] != c && !unseenSwap(i, name[i-1], c) {
				name[i-1], name[i] = name[i], name[i-1]
				refused("a swap", i)
				name[i-1], name[i] = name[i], name[i-1]
			}
		}
	}
}

// unseenSwap reports the one swap that the format's check cannot see: h and q
// as the last digit of the tag and the first of the check.
func unseenSwap(i int, a, b byte) bool {
	return i == checkAt && (a == 'h' && b == 'q' || a == 'q' && b == 'h')
}

// TestCheckSeesAllErrorsButOne is the proof behind TestTypingErrorsAreRefused. A
// CRC is linear: an error changes the check of every name in the same way, so
// each pair of characters need be tried only once at each place.
func TestCheckSeesAllErrorsButOne(t *testing.T) {
	change := func(i int, x byte) uint16 {
		var zero, wrong [checkAt]byte
		wrong[i] = x
		return check10(zero[:]) ^ check10(wrong[:])
	}
	for i := range checkAt {
		for _, a := range []byte(alphabet + "-") {
			for _, b := range []byte(alphabet + "-") {
				if a == b {
					continue
				}
				if change(i, a^b) == 0 {
					t.Errorf("%q for %q at column %d keeps the check", a, b, i+1)
				}
				if i > 0 && change(i-1, a^b) == change(i, a^b) {
					t.Errorf("%q and %q swapped at columns %d and %d keep the check", a, b, i, i+1)
				}
			}
		}
	}
	for _, a := range []byte(alphabet) {
		for _, b := range []byte(alphabet) {
			digits := uint16(digitValues[a]^digitValues[b]) << 5
			if unseen := a != b && change(checkAt-1, a^b) == digits; unseen != unseenSwap(checkAt, a, b) {
				t.Errorf("%q and %q swapped between tag and check: unseen is %v", a, b, unseen)
			}
		}
	}
}

func TestTextMarshalling(t *testing.T) {
	type record struct {
		Name  Name           `json:"name"`
		Owner Identity       `json:"owner"`
		Class Class          `json:"class"`
		Runs  map[Name]int64 `json:"runs"`
	}
	n := mustParse(t, sample)
	want := `{"name":"` + sample + `","owner":"emhwdgg60rf5x9vn4a","class":"h","runs":{"` + sample + `":3}}`
	got, err := json.Marshal(record{n, n.Identity(), n.Class(), map[Name]int64{n: 3}})
	if err != nil || string(got) != want {
		t.Fatalf("%s, %v, want %s", got, err, want)
	}
	var back record
	if err := json.Unmarshal(got, &back); err != nil || back.Name != n || back.Owner != n.Identity() ||
		back.Class != ClassH || back.Runs[n] != 3 {
		t.Fatalf("read back %+v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"name":"`+sample[:57]+`"}`), &back); !errors.Is(err, ErrInvalid) {
		t.Errorf("a truncated name in JSON: %v", err)
	}
	if err := json.Unmarshal([]byte(`{"owner":"emhwdgg60rf5x9vn4"}`), &back); !errors.Is(err, ErrInvalid) {
		t.Errorf("a truncated identity in JSON: %v", err)
	}
	for _, class := range []string{"", "x", "hh", "H"} {
		if err := json.Unmarshal([]byte(`{"class":"`+class+`"}`), &back); !errors.Is(err, ErrInvalid) {
			t.Errorf("class %q in JSON: %v", class, err)
		}
	}
}

func TestZeroValuesHaveNoText(t *testing.T) {
	var n Name
	var id Identity
	if _, err := n.MarshalText(); !errors.Is(err, ErrInvalid) {
		t.Errorf("zero Name: %v", err)
	}
	if _, err := id.MarshalText(); !errors.Is(err, ErrInvalid) {
		t.Errorf("zero Identity: %v", err)
	}
	if _, err := Class(0).MarshalText(); !errors.Is(err, ErrInvalid) {
		t.Errorf("zero Class: %v", err)
	}
	if _, err := n.Child("undo"); !errors.Is(err, ErrInvalid) {
		t.Errorf("child of the zero Name: %v", err)
	}
	if _, err := n.Render(FormatUUID); !errors.Is(err, ErrInvalid) {
		t.Errorf("rendering of the zero Name: %v", err)
	}
	if _, err := Semantic(); !errors.Is(err, ErrInvalid) {
		t.Errorf("semantic name of nothing: %v", err)
	}
	if _, err := ParseIdentity("emhwdgg60rf5x9vnUa"); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "column 17") {
		t.Errorf("identity with a capital: %v", err)
	}
	if n.String() != "" || id.String() != "" || n.Class() != 0 || n.Minted() || n.Tag() != "" ||
		n.Epoch() != 0 || n.Seq() != 0 || !n.Identity().IsZero() || !n.Root().IsZero() || !n.Parent().IsZero() {
		t.Error("the zero Name has parts")
	}
}
