package ledger

import (
	"errors"
	"strings"
	"testing"

	"github.com/opmint/opmint/keygen"
)

const (
	minted = "h1-emhwdgg60rf5x9vn4a-00000001-00000000-r4trds3k1d7z9ygzca"
	uuid   = "0190b5e4-3c1a-7abc-8def-0123456789ab"
)

func TestNames(t *testing.T) {
	semantic, err := keygen.Semantic("coil", "7")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		minted:                              minted,
		minted + "_undo":                    minted + "_undo",
		semantic.String():                   semantic.String(),
		"order 7":                           "order 7",
		"Order 7":                           "Order 7",
		"…":                                 "…",
		"..":                                "..",
		strings.Repeat("x", 255):            strings.Repeat("x", 255),
		uuid:                                uuid,
		strings.ToUpper(uuid):               uuid,
		"urn:uuid:" + uuid:                  uuid,
		"URN:UUID:" + strings.ToUpper(uuid): uuid,
		"{" + uuid + "}":                    "{" + uuid + "}",
		strings.ReplaceAll(uuid, "-", ""):   strings.ReplaceAll(uuid, "-", ""),
		"h1emhwdgg60rf5x9vn4a":              "h1emhwdgg60rf5x9vn4a",
		"1h-emhwdgg60rf5x9vn4a":             "1h-emhwdgg60rf5x9vn4a",
		"hh1-emhwdgg60rf5x9vn4a":            "hh1-emhwdgg60rf5x9vn4a",
		"a\u00a0b":                          "a\u00a0b",
	} {
		got, err := parseName(text)
		if err != nil || got.text != want {
			t.Errorf("%q is %q, %v, want %q", text, got.text, err, want)
		}
	}
	for what, text := range map[string]string{
		"empty":              "",
		"too long":           strings.Repeat("x", 256),
		"leading space":      " x",
		"trailing space":     "x ",
		"trailing newline":   "x\n",
		"no-break space":     "x\u00a0",
		"ideographic space":  "\u3000x",
		"tab inside":         "a\tb",
		"NUL":                "a\x00b",
		"delete":             "a\x7fb",
		"C1 control":         "a\u0085b",
		"not UTF-8":          "a\xffb",
		"truncated":          minted[:57],
		"cut after its head": "h1-",
		"upper case":         strings.ToUpper(minted),
		"one capital":        "H" + minted[1:],
		"one digit wrong":    minted[:30] + "2" + minted[31:],
		"wrong check":        minted[:57] + "b",
		"unknown class":      "x1-something",
		"unknown version":    "h2" + minted[2:],
		"quoted":             minted + `"`,
		"padded":             minted + " ",
		"bad label":          minted + "_Undo",
		"a date":             "q3-2026-report",
	} {
		if got, err := parseName(text); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %q is %q, %v, want ErrInvalid", what, text, got.text, err)
		}
	}
}

// TestRenderingIsAnotherKey: a name and its UUID are two keys.
func TestRenderingIsAnotherKey(t *testing.T) {
	name, err := keygen.Parse(minted)
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := name.Render(keygen.FormatUUID)
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseName(rendered)
	if err != nil || got.text != rendered || got.floored() {
		t.Errorf("%q is %q, floored %v, %v", rendered, got.text, got.floored(), err)
	}
}

func TestFloored(t *testing.T) {
	for text, want := range map[string]bool{minted: true, minted + "_undo": false, uuid: false, "x": false} {
		if got, err := parseName(text); err != nil || got.floored() != want {
			t.Errorf("%s: floored %v, %v", text, got.floored(), err)
		}
	}
}

// FuzzName: what is taken is taken again in its one spelling, and is the same key.
func FuzzName(f *testing.F) {
	for _, text := range []string{minted, minted + "_undo", uuid, "URN:UUID:" + uuid, "order 7", "h1-", " x", "a\x00", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseName(text)
		if err != nil {
			if !errors.Is(err, ErrInvalid) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		again, err := parseName(n.text)
		if err != nil || again != n {
			t.Errorf("%q is %q, which is %q, %v", text, n.text, again.text, err)
		}
		if n.text != text && !strings.EqualFold(n.text, text) && !strings.EqualFold("urn:uuid:"+n.text, text) {
			t.Errorf("%q is %q", text, n.text)
		}
		if likeName(text) != !n.parsed.IsZero() {
			t.Errorf("%q: parsed as %q", text, n.parsed)
		}
	})
}
