package keygen

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
)

type vectors struct {
	Valid []struct {
		Class       string `json:"class"`
		EK          string `json:"ek_sha256"`
		Incarnation string `json:"incarnation"`
		Minter      string `json:"minter"`
		Epoch       uint64 `json:"epoch"`
		Seq         uint64 `json:"seq"`
		LeaseKey    string `json:"lease_key"`
		Name        string `json:"name"`
		UUID        string `json:"uuid"`
		UUID4       string `json:"uuid4"`
		UUID7       string `json:"uuid7"`
		Header      string `json:"header"`
	} `json:"valid"`
	Invalid []struct {
		Text string `json:"text"`
		Why  string `json:"why"`
	} `json:"invalid"`
	Semantic []struct {
		Fields []string `json:"fields"`
		Name   string   `json:"name"`
		UUID   string   `json:"uuid"`
	} `json:"semantic"`
	Children []struct {
		Parent string `json:"parent"`
		Label  string `json:"label"`
		Name   string `json:"name"`
		UUID   string `json:"uuid"`
	} `json:"children"`
}

func readVectors(t testing.TB) vectors {
	t.Helper()
	data, err := os.ReadFile("../testdata/vectors/names.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Valid) == 0 || len(v.Invalid) == 0 || len(v.Semantic) == 0 || len(v.Children) == 0 {
		t.Fatal("the vectors lack a section")
	}
	return v
}

// fill writes the bytes of hexadecimal text to dst; absent text leaves zeros.
func fill(t *testing.T, dst []byte, text string) {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil || text != "" && len(b) != len(dst) {
		t.Fatalf("bad vector %q: %v", text, err)
	}
	copy(dst, b)
}

func mustParse(t interface {
	Helper()
	Fatalf(string, ...any)
}, text string) Name {
	t.Helper()
	n, err := Parse(text)
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	return n
}

func checkRendering(t *testing.T, n Name, f Format, want string) {
	t.Helper()
	if got, err := n.Render(f); err != nil || got != want {
		t.Errorf("%s as %s = %q, %v, want %q", n, f, got, err, want)
	}
}

func TestVectorsValid(t *testing.T) {
	for _, v := range readVectors(t).Valid {
		var ek, incarnation [32]byte
		var minter [16]byte
		terms := Terms{Class: Class(v.Class[0]), Epoch: v.Epoch, First: v.Seq, Count: 1}
		fill(t, ek[:], v.EK)
		fill(t, incarnation[:], v.Incarnation)
		fill(t, minter[:], v.Minter)
		fill(t, terms.Key[:], v.LeaseKey)
		terms.Identity = NewIdentity(ek, incarnation, minter)

		lease, err := NewLease(terms)
		if err != nil {
			t.Fatal(err)
		}
		minted, err := lease.Name(0)
		if err != nil || minted.String() != v.Name {
			t.Errorf("minted %q, %v, want %q", minted, err, v.Name)
		}
		n := mustParse(t, v.Name)
		if n != minted {
			t.Errorf("parsed %v, minted %v", n, minted)
		}
		if n.Class() != terms.Class || n.Identity() != terms.Identity || n.Epoch() != v.Epoch || n.Seq() != v.Seq {
			t.Errorf("%s reads as %v %v %d %d", n, n.Class(), n.Identity(), n.Epoch(), n.Seq())
		}
		checkRendering(t, n, FormatNative, v.Name)
		checkRendering(t, n, FormatUUID, v.UUID)
		checkRendering(t, n, FormatUUID4, v.UUID4)
		checkRendering(t, n, FormatUUID7, v.UUID7)
		checkRendering(t, n, FormatHeader, v.Header)
	}
}

func TestVectorsInvalid(t *testing.T) {
	for _, v := range readVectors(t).Invalid {
		if n, err := Parse(v.Text); err == nil || !n.IsZero() {
			t.Errorf("%s: Parse(%q) = %q, %v", v.Why, v.Text, n, err)
		}
	}
}

func TestVectorsSemantic(t *testing.T) {
	for _, v := range readVectors(t).Semantic {
		n, err := Semantic(v.Fields...)
		if err != nil || n.String() != v.Name {
			t.Errorf("Semantic(%q) = %q, %v, want %q", v.Fields, n, err, v.Name)
		}
		if n != mustParse(t, v.Name) || n.Class() != ClassS || n.Minted() {
			t.Errorf("%s reads as class %v", n, n.Class())
		}
		checkRendering(t, n, FormatUUID, v.UUID)
	}
}

func TestVectorsChildren(t *testing.T) {
	for _, v := range readVectors(t).Children {
		parent := mustParse(t, v.Parent)
		n, err := parent.Child(v.Label)
		if err != nil || n.String() != v.Name || n != mustParse(t, v.Name) {
			t.Errorf("%s.Child(%q) = %q, %v, want %q", parent, v.Label, n, err, v.Name)
		}
		if n.Parent() != parent || n.Root() != parent.Root() {
			t.Errorf("%s has parent %s and root %s", n, n.Parent(), n.Root())
		}
		checkRendering(t, n, FormatUUID, v.UUID)
	}
}
