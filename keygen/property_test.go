package keygen

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// naiveDigits writes 40 bits in base 32 one digit at a time.
func naiveDigits(v uint64) string {
	var text string
	for range 8 {
		text = string("0123456789abcdefghjkmnpqrstvwxyz"[v%32]) + text
		v /= 32
	}
	return text
}

// naiveCheck computes the check as the specification words it.
func naiveCheck(text string) string {
	return naiveDigits(uint64(crc32.ChecksumIEEE([]byte(text)) % 1024))[6:]
}

// randomName returns a random minted name.
func randomName(r *rand.Rand) Name {
	var ek [32]byte
	binary.BigEndian.PutUint64(ek[:], r.Uint64())
	t := Terms{
		Class:    []Class{ClassH, ClassV, ClassJ}[r.IntN(3)],
		Identity: NewIdentity(ek, [32]byte{}, [16]byte{}),
		Epoch:    r.Uint64N(MaxEpoch + 1),
		First:    r.Uint64N(MaxSeq + 1),
		Count:    1,
	}
	binary.BigEndian.PutUint64(t.Key[:], r.Uint64())
	lease, err := NewLease(t)
	if err != nil {
		panic(err)
	}
	n, err := lease.Name(0)
	if err != nil {
		panic(err)
	}
	return n
}

// parts is a name as numbers and texts that are compared one after the other.
type parts struct {
	class      Class
	identity   string
	epoch, seq uint64
	labels     []string
}

var genLabel = rapid.StringMatching(`[a-z0-9-]{1,32}`)

// genMinted draws a minted name from few identities and numbers, so that equal
// parts are common, and up to two labels.
func genMinted(t *rapid.T) (Name, parts) {
	identity := NewIdentity([32]byte{rapid.ByteRange(0, 2).Draw(t, "ek")}, [32]byte{}, [16]byte{})
	number := rapid.OneOf(rapid.Uint64Range(0, 40), rapid.Uint64Range(0, MaxSeq))
	p := parts{
		class:    rapid.SampledFrom([]Class{ClassH, ClassJ, ClassV}).Draw(t, "class"),
		identity: identity.String(),
		epoch:    number.Draw(t, "epoch"),
		seq:      number.Draw(t, "seq"),
		labels:   rapid.SliceOfN(genLabel, 0, 2).Draw(t, "labels"),
	}
	lease, err := NewLease(Terms{Class: p.class, Identity: identity, Epoch: p.epoch, First: p.seq, Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	n, err := lease.Name(0)
	for _, label := range p.labels {
		if err == nil {
			n, err = n.Child(label)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return n, p
}

// compare orders by class, identity, epoch, seq and then the labels as one text,
// a name before its descendants.
func (p parts) compare(q parts) int {
	return cmp.Or(
		cmp.Compare(p.class, q.class),
		strings.Compare(p.identity, q.identity),
		cmp.Compare(p.epoch, q.epoch),
		cmp.Compare(p.seq, q.seq),
		strings.Compare(strings.Join(p.labels, "_"), strings.Join(q.labels, "_")),
	)
}

func TestOrderOfNamesIsOrderOfTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, p := genMinted(t)
		b, q := genMinted(t)
		want := p.compare(q)
		if got := a.Compare(b); got != want {
			t.Errorf("%s and %s compare as %d, their parts as %d", a, b, got, want)
		}
		if got := strings.Compare(a.String(), b.String()); got != want {
			t.Errorf("%s and %s sort as %d, their parts as %d", a, b, got, want)
		}
		if (a == b) != (want == 0) {
			t.Errorf("%s == %s is %v", a, b, a == b)
		}
	})
}

func TestNamesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, p := genMinted(t)
		back, err := Parse(n.String())
		if err != nil || back != n {
			t.Fatalf("Parse(%q) = %q, %v", n, back, err)
		}
		got := parts{back.Class(), back.Identity().String(), back.Epoch(), back.Seq(), back.Labels()}
		if got.compare(p) != 0 || !slices.Equal(got.labels, p.labels) {
			t.Fatalf("%s reads as %+v, was made of %+v", n, got, p)
		}
		text := back.Root().String()
		if text[checkAt:] != naiveCheck(text[:checkAt]) {
			t.Fatalf("%s should have the check %s", text, naiveCheck(text[:checkAt]))
		}
	})
}

func TestDistinctFieldsDistinctText(t *testing.T) {
	fields := rapid.SliceOfN(rapid.StringMatching(`[ab]{0,3}`), 1, 4)
	rapid.Check(t, func(t *rapid.T) {
		f, g := fields.Draw(t, "f"), fields.Draw(t, "g")
		a, errA := Semantic(f...)
		b, errB := Semantic(g...)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if (a == b) != slices.Equal(f, g) {
			t.Fatalf("%q and %q are named %s and %s", f, g, a, b)
		}
	})
}

func TestChildrenFitOrAreRefused(t *testing.T) {
	labels := rapid.SliceOfN(rapid.OneOf(genLabel, rapid.StringN(0, 40, -1)), 1, 6)
	rapid.Check(t, func(t *rapid.T) {
		n := mustParse(t, sample)
		for _, label := range labels.Draw(t, "labels") {
			child, err := n.Child(label)
			_, parseErr := Parse(n.String() + "_" + label)
			if (err == nil) != (parseErr == nil) && !strings.Contains(label, "_") {
				t.Fatalf("Child(%q) of %s: %v, Parse: %v", label, n, err, parseErr)
			}
			if err != nil {
				continue
			}
			if child.Parent() != n || child.Root().String() != sample || len(child.String()) > MaxLength {
				t.Fatalf("child %s of %s", child, n)
			}
			n = child
		}
	})
}
