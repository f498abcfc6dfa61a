package keygen

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
)

// counterFunc is a Counter that is a function.
type counterFunc func(ctx context.Context) (uint64, error)

func (f counterFunc) Next(ctx context.Context) (uint64, error) { return f(ctx) }

// counting returns a Counter that answers 1, 2, 3…
func counting() Counter {
	var n uint64
	return counterFunc(func(context.Context) (uint64, error) {
		n++
		return n, nil
	})
}

// answering returns a Counter that answers the given values, then fails.
func answering(values ...uint64) Counter {
	return counterFunc(func(context.Context) (uint64, error) {
		if len(values) == 0 {
			return 0, errors.New("no more values")
		}
		v := values[0]
		values = values[1:]
		return v, nil
	})
}

var testIdentity = NewIdentity([32]byte{1}, [32]byte{2}, [16]byte{3})

func newMinter(t *testing.T, c MinterConfig) *Minter {
	t.Helper()
	c.Class, c.Identity = cmp.Or(c.Class, ClassH), testIdentity
	m, err := NewMinter(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// mint takes one name.
func mint(t *testing.T, m *Minter) Name {
	t.Helper()
	lease, err := m.Lease(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	n, err := lease.Name(0)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestMinterIsDense mints 10 million names from 16 goroutines and reads each
// back: every (epoch, seq) once, so all names are distinct, and none left out.
func TestMinterIsDense(t *testing.T) {
	const goroutines, each, perEpoch = 16, 625_000, 1_500_007
	m := newMinter(t, MinterConfig{Counter: counting(), NamesPerEpoch: perEpoch})
	seen := make([][]uint32, goroutines) // by goroutine: (epoch-1)·perEpoch + seq of each name
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			numbers, err := mintNumbers(t.Context(), m, each, uint64(1+37*g), perEpoch)
			if err != nil {
				t.Error(err)
			}
			seen[g] = numbers
		})
	}
	wg.Wait()
	var minted [goroutines*each + 1]bool
	for _, numbers := range seen {
		for _, n := range numbers {
			if int(n) >= len(minted) || minted[n] {
				t.Fatalf("number %d twice, or far beyond the others", n)
			}
			minted[n] = true
		}
	}
	for n := range goroutines * each {
		if !minted[n] {
			t.Fatalf("number %d was left out", n)
		}
	}
}

// mintNumbers mints count names in leases of up to size and returns their
// numbers in the order of the whole, as their texts tell them.
func mintNumbers(ctx context.Context, m *Minter, count int, size, perEpoch uint64) ([]uint32, error) {
	numbers := make([]uint32, 0, count)
	buf := make([]byte, 0, Length)
	for len(numbers) < count {
		lease, err := m.Lease(ctx, min(size, uint64(count-len(numbers))))
		if err != nil {
			return nil, err
		}
		for i := range lease.Count() {
			if buf, err = lease.AppendName(buf[:0], i); err != nil {
				return nil, err
			}
			text := string(buf)
			if i == 0 {
				if _, err := Parse(text); err != nil {
					return nil, err
				}
			}
			numbers = append(numbers, uint32((digits40(text[epochAt:])-1)*perEpoch+digits40(text[seqAt:])))
		}
	}
	return numbers, nil
}

func TestMinterOpensTheNextEpoch(t *testing.T) {
	m := newMinter(t, MinterConfig{Counter: answering(7, 9, 10), NamesPerEpoch: 2})
	for _, want := range []struct{ epoch, seq, left uint64 }{{7, 0, 1}, {7, 1, 0}, {9, 0, 1}, {9, 1, 0}, {10, 0, 1}} {
		if n := mint(t, m); n.Epoch() != want.epoch || n.Seq() != want.seq || n.Identity() != testIdentity {
			t.Fatalf("%s is (%d, %d), want %+v", n, n.Epoch(), n.Seq(), want)
		}
		if left := m.Left(); left != want.left {
			t.Fatalf("%d seqs left, want %d", left, want.left)
		}
	}
	lease, err := m.Lease(t.Context(), 5)
	if err != nil || lease.Count() != 1 || lease.Terms().First != 1 || lease.Terms().Epoch != 10 {
		t.Fatalf("the last of an epoch: %+v, %v", lease, err)
	}
}

func TestMinterFailedClaimUsesUpNothing(t *testing.T) {
	failure := errors.New("the chip is on fire")
	fail := false
	next := uint64(0)
	m := newMinter(t, MinterConfig{NamesPerEpoch: 1, Counter: counterFunc(func(context.Context) (uint64, error) {
		if fail {
			return 0, failure
		}
		next++
		return next, nil
	})})
	mint(t, m)
	fail = true
	for range 3 {
		if _, err := m.Lease(t.Context(), 1); !errors.Is(err, failure) {
			t.Fatalf("lease with a failing counter: %v", err)
		}
	}
	fail = false
	if n := mint(t, m); n.Epoch() != 2 || n.Seq() != 0 {
		t.Fatalf("%s is (%d, %d), want (2, 0)", n, n.Epoch(), n.Seq())
	}
}

func TestMinterFailedRandomUsesUpNothing(t *testing.T) {
	failure := errors.New("no entropy")
	random := io.MultiReader(strings.NewReader(strings.Repeat("k", 32)), iotest.ErrReader(failure))
	m := newMinter(t, MinterConfig{Counter: answering(1), Random: random})
	mint(t, m)
	mint(t, m)
	if _, err := m.Lease(t.Context(), 1); !errors.Is(err, failure) {
		t.Fatalf("lease without randomness: %v", err)
	}
	m.random = strings.NewReader(strings.Repeat("k", 16))
	if n := mint(t, m); n.Seq() != 2 {
		t.Fatalf("%s has seq %d, want 2", n, n.Seq())
	}
}

func TestMinterRefusesACounterThatWentBack(t *testing.T) {
	for _, back := range []uint64{5, 4, 0} {
		t.Run(fmt.Sprint(back), func(t *testing.T) {
			m := newMinter(t, MinterConfig{Counter: answering(5, back, 6, 7), NamesPerEpoch: 1})
			mint(t, m)
			for range 3 {
				if _, err := m.Lease(t.Context(), 1); !errors.Is(err, ErrWentBack) {
					t.Fatalf("lease after the counter went from 5 to %d: %v", back, err)
				}
			}
			if _, _, err := m.Epoch(); !errors.Is(err, ErrWentBack) {
				t.Fatalf("Epoch: %v", err)
			}
		})
	}
}

func TestMinterStopsWhereNamesEnd(t *testing.T) {
	m := newMinter(t, MinterConfig{Counter: answering(MaxEpoch, MaxEpoch+1), NamesPerEpoch: 1})
	if n := mint(t, m); n.Epoch() != MaxEpoch {
		t.Fatalf("%s has epoch %d", n, n.Epoch())
	}
	if _, err := m.Lease(t.Context(), 1); !errors.Is(err, ErrExhausted) {
		t.Fatalf("lease beyond the highest epoch: %v", err)
	}
	m = newMinter(t, MinterConfig{Counter: answering(5, MaxEpoch+9, 6, 7), NamesPerEpoch: 1})
	mint(t, m)
	for _, want := range []error{ErrExhausted, ErrWentBack, ErrWentBack} {
		if _, err := m.Lease(t.Context(), 1); !errors.Is(err, want) {
			t.Fatalf("lease after the counter was beyond a name: %v, want %v", err, want)
		}
	}
}

func TestMinterTellsItsEpoch(t *testing.T) {
	m := newMinter(t, MinterConfig{Class: ClassV, Counter: answering(7, 9), NamesPerEpoch: 1})
	for _, want := range []uint64{7, 9} {
		n := mint(t, m)
		if id, epoch, err := m.Epoch(); id != testIdentity || epoch != want || err != nil || n.Epoch() != want {
			t.Errorf("Epoch() = %v, %d, %v; name %s", id, epoch, err, n)
		}
		if m.Class() != ClassV || n.Class() != ClassV {
			t.Errorf("class %s, name %s", m.Class(), n)
		}
	}
}

// TestLeaseKeysStayIn prints what holds a key in every way that logs are made.
func TestLeaseKeysStayIn(t *testing.T) {
	terms := Terms{Class: ClassH, Identity: testIdentity, Epoch: 7, First: 3, Count: 2, Key: Key([]byte("0123456789abcdef"))}
	lease, err := NewLease(terms)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d", "%q"} {
		for _, v := range []any{terms, &terms, lease, terms.Key} {
			text := fmt.Sprintf(verb, v)
			for _, secret := range []string{"0123456789abcdef", "30313233", "48 49 50 51", "0x30, 0x31, 0x32"} {
				if strings.Contains(text, secret) {
					t.Errorf("%s of a %T has the key: %s", verb, v, text)
				}
			}
		}
	}
	if text, err := json.Marshal(terms); err == nil {
		t.Errorf("terms as JSON: %s", text)
	}
	if want := "lease of 2 names from 3 in epoch 7 of " + testIdentity.String(); fmt.Sprint(lease) != want {
		t.Errorf("%v, want %s", lease, want)
	}
}

func TestMinterBlockedCounter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan uint64, 1)
		answers <- 1
		m := newMinter(t, MinterConfig{NamesPerEpoch: 1, Counter: counterFunc(func(ctx context.Context) (uint64, error) {
			select {
			case v := <-answers:
				return v, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		})})
		mint(t, m)
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 3)
		for range cap(errs) {
			go func() {
				_, err := m.Lease(ctx, 1)
				errs <- err
			}()
		}
		synctest.Wait() // one is in the counter, the others wait for it
		cancel()
		for range cap(errs) {
			if err := <-errs; !errors.Is(err, context.Canceled) {
				t.Errorf("lease while the counter blocks: %v", err)
			}
		}
		answers <- 2
		if n := mint(t, m); n.Epoch() != 2 || n.Seq() != 0 {
			t.Errorf("after the block: %s", n)
		}
		if _, err := m.Lease(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("lease with a context that is done: %v", err)
		}
	})
}

func TestMinterConfigs(t *testing.T) {
	good := MinterConfig{Class: ClassV, Identity: testIdentity, Counter: counting()}
	for what, change := range map[string]func(*MinterConfig){
		"semantic class": func(c *MinterConfig) { c.Class = ClassS },
		"no class":       func(c *MinterConfig) { c.Class = 0 },
		"no identity":    func(c *MinterConfig) { c.Identity = Identity{} },
		"no counter":     func(c *MinterConfig) { c.Counter = nil },
		"large epochs":   func(c *MinterConfig) { c.NamesPerEpoch = MaxSeq + 2 },
	} {
		c := good
		change(&c)
		if _, err := NewMinter(t.Context(), c); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	m, err := NewMinter(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	for _, count := range []uint64{0, MaxSeq + 2, 1 << 63} {
		if _, err := m.Lease(t.Context(), count); !errors.Is(err, ErrInvalid) {
			t.Errorf("lease of %d: %v", count, err)
		}
	}
}

func TestLeaseTerms(t *testing.T) {
	good := Terms{Class: ClassJ, Identity: testIdentity, Epoch: MaxEpoch, First: MaxSeq - 1, Count: 2}
	for what, change := range map[string]func(*Terms){
		"semantic class": func(t *Terms) { t.Class = ClassS },
		"no identity":    func(t *Terms) { t.Identity = Identity{} },
		"epoch":          func(t *Terms) { t.Epoch++ },
		"first":          func(t *Terms) { t.First = MaxSeq + 1 },
		"no names":       func(t *Terms) { t.Count = 0 },
		"one too many":   func(t *Terms) { t.Count++ },
		"overflow":       func(t *Terms) { t.Count = 1<<64 - 1 },
	} {
		terms := good
		change(&terms)
		if _, err := NewLease(terms); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	lease, err := NewLease(good)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := lease.Name(1); err != nil || n.Seq() != MaxSeq || lease.Terms() != good {
		t.Errorf("the last name there is: %s, %v", n, err)
	}
	for _, i := range []uint64{2, 1 << 63, 1<<64 - 1} {
		b, err := lease.AppendName([]byte("x"), i)
		if !errors.Is(err, ErrLeaseRange) || string(b) != "x" {
			t.Errorf("name %d of 2: %q, %v", i, b, err)
		}
	}
}

func TestAppendNameAllocatesNothing(t *testing.T) {
	lease, err := NewLease(Terms{Class: ClassH, Identity: testIdentity, Count: MaxSeq + 1})
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 0, Length)
	var i uint64
	if allocs := testing.AllocsPerRun(1000, func() {
		buf, _ = lease.AppendName(buf[:0], i)
		i++
	}); allocs != 0 {
		t.Errorf("%v allocations a name", allocs)
	}
}

func TestFormats(t *testing.T) {
	for _, f := range Formats() {
		if got, err := ParseFormat(string(f)); err != nil || got != f {
			t.Errorf("ParseFormat(%q) = %q, %v", f, got, err)
		}
	}
	for _, length := range []int{0, Length - 1, MaxLength + 1} {
		if b, err := AppendRendering(nil, make([]byte, length), FormatUUID); !errors.Is(err, ErrInvalid) || b != nil {
			t.Errorf("rendering of %d bytes: %q, %v", length, b, err)
		}
	}
	for _, text := range []string{"", "UUID", "uuid1", strings.Repeat("x", 1000)} {
		if _, err := ParseFormat(text); !errors.Is(err, ErrInvalid) || len(err.Error()) > 200 {
			t.Errorf("ParseFormat(%.10q…): %v", text, err)
		}
		if _, err := mustParse(t, sample).Render(Format(text)); !errors.Is(err, ErrInvalid) {
			t.Errorf("rendering as %.10q…: %v", text, err)
		}
	}
}
