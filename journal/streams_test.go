package journal_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store/storetest"
)

func TestNumbersOfAStream(t *testing.T) {
	s, c := storetest.NewMemory(), newClocks()
	m := remembering(t, s, c)
	first := m.number(t, "a")
	if first.Seq != 0 || first.Base != 0 || first.Replayed || first.Void || first.Edition.Number() != 1 {
		t.Errorf("%+v", first)
	}
	for i, intent := range []string{"b", "a", "c", "b"} {
		got := m.number(t, intent)
		want := map[string]uint64{"a": 0, "b": 1, "c": 2}[intent]
		if got.Seq != want || got.Replayed != (i == 1 || i == 3) || got.Edition != first.Edition ||
			(got.Name == first.Name) != (intent == "a") {
			t.Errorf("%s: %+v", intent, got)
		}
	}
	other, err := m.Number(t.Context(), 1, "t", "a")
	if err != nil || other.Seq != 0 || other.Name == first.Name || other.Edition == first.Edition {
		t.Errorf("another stream: %+v, %v", other, err)
	}
	other, err = m.Number(t.Context(), 2, "s", "a")
	if err != nil || other.Seq != 0 || other.Name == first.Name {
		t.Errorf("another user: %+v, %v", other, err)
	}
	if m.name(t, "a").Name == first.Name {
		t.Error("an intent in no stream has the name of one in a stream")
	}
}

func TestAckedAndVoid(t *testing.T) {
	m := remembering(t, storetest.NewMemory(), newClocks())
	ctx := t.Context()
	if err := m.Acked(ctx, 1, "s", 0); !errors.Is(err, journal.ErrUnknown) {
		t.Errorf("no stream: %v", err)
	}
	if err := m.Void(ctx, 1, "s", 0); !errors.Is(err, journal.ErrUnknown) {
		t.Errorf("no stream: %v", err)
	}
	for i := range 5 {
		m.number(t, fmt.Sprint(i))
	}
	if err := m.Void(ctx, 1, "s", 5); !errors.Is(err, journal.ErrUnknown) {
		t.Errorf("void what was not given: %v", err)
	}
	if err := m.Acked(ctx, 1, "s", 6); !errors.Is(err, keygen.ErrInvalid) {
		t.Errorf("ack what was not given: %v", err)
	}
	for range 2 {
		if err := m.Void(ctx, 1, "s", 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, below := range []uint64{3, 3, 2, 0} {
		if err := m.Acked(ctx, 1, "s", below); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []journal.Numbered{{Seq: 0}, {Seq: 1, Void: true}, {Seq: 2}, {Seq: 3}, {Seq: 4}} {
		if got := m.number(t, fmt.Sprint(i)); got.Seq != want.Seq || got.Void != want.Void || got.Base != 3 || !got.Replayed {
			t.Errorf("%+v, want %+v above base 3", got, want)
		}
	}
	if err := m.Void(ctx, 1, "s", 2); !errors.Is(err, journal.ErrExpired) {
		t.Errorf("void what was acked: %v", err)
	}
	if err := m.Void(ctx, 1, "s", 1); err != nil {
		t.Errorf("void what is void, and acked: %v", err)
	}
}

// TestNumbersAreForgotten: once they are acked and their time is over.
func TestNumbersAreForgotten(t *testing.T) {
	s, c := storetest.NewMemory(), newClocks()
	m := remembering(t, s, c)
	m.forget(t)
	before := len(records(t, s, ""))
	first := m.number(t, "0")
	for i := range 999 {
		m.number(t, fmt.Sprint(i+1))
	}
	c.pass(2 * journal.DefaultRetain)
	m.forget(t)
	if got := m.number(t, "999"); got.Seq != 999 || !got.Replayed {
		t.Errorf("not acked: %+v", got)
	}
	if err := m.Acked(t.Context(), 1, "s", 1); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := m.Number(t.Context(), 1, "s", "0"); !errors.Is(err, journal.ErrExpired) {
			t.Errorf("acked: %v", err)
		}
		m.forget(t)
	}
	if err := m.Void(t.Context(), 1, "s", 0); !errors.Is(err, journal.ErrExpired) {
		t.Errorf("void what is forgotten: %v", err)
	}
	m.number(t, "1000") // another could not be had
	if err := m.Acked(t.Context(), 1, "s", 1001); err != nil {
		t.Fatal(err)
	}
	m.forget(t)
	if got := m.number(t, "1000"); got.Seq != 1000 || !got.Replayed {
		t.Errorf("acked, and its time is not over: %+v", got)
	}
	if got := len(records(t, s, "n/")); got != 1 {
		t.Errorf("%d numbers are remembered, want 1", got)
	}
	c.pass(journal.DefaultRetain)
	m.forget(t)
	c.pass(10*journal.DefaultRetain - time.Millisecond)
	m.forget(t)
	if _, err := m.Number(t.Context(), 1, "s", "1000"); !errors.Is(err, journal.ErrExpired) {
		t.Errorf("its tombstone stands: %v", err)
	}
	c.pass(time.Millisecond)
	m.forget(t)
	if got := records(t, s, ""); len(got) != before+1 { // the highest edition
		t.Errorf("left behind: %q", got)
	}
	again := m.number(t, "0")
	if again.Seq != 0 || again.Replayed || again.Edition.Number() <= first.Edition.Number() {
		t.Errorf("after the end of the stream: %+v", again)
	}
}

func TestNewEdition(t *testing.T) {
	m := remembering(t, storetest.NewMemory(), newClocks())
	above := func(text string) journal.Edition {
		t.Helper()
		var e keygen.Edition
		if text != "" {
			if err := e.UnmarshalText([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := m.NewEdition(t.Context(), 1, "s", e)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	// The epoch is 1.
	for _, want := range []struct {
		above  string
		number uint64
	}{
		{"", 2}, {"", 3}, {"0000000a-0000000000000", 11}, {"00000001-0000000000000", 12}, {"0000000d-zzzzzzzzzzzzz", 14},
	} {
		got := above(want.above)
		if got.Edition.Number() != want.number {
			t.Errorf("above %q: %v, want %d", want.above, got.Edition, want.number)
		}
		if n := m.number(t, "i"); n.Edition != got.Edition || n.Seq != 0 {
			t.Errorf("%+v, want edition %v", n, got.Edition)
		}
	}
	var last keygen.Edition
	if err := last.UnmarshalText([]byte("zzzzzzzz-0000000000000")); err != nil {
		t.Fatal(err)
	}
	if _, err := m.NewEdition(t.Context(), 1, "s", last); !errors.Is(err, keygen.ErrInvalid) {
		t.Errorf("above the last: %v", err)
	}
}

// TestEditionIsRedrawn whenever the journal may have gone back, and then only. What
// was numbered keeps its number.
func TestEditionIsRedrawn(t *testing.T) {
	for _, class := range classes {
		s, c, tpm := storetest.NewMemory(), newClocks(), newTPM()
		start := func() *memory {
			t.Helper()
			m, err := remember(t.Context(), s, class, tpm, c)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		m := start()
		last := m.number(t, "a")
		since := m.name(t, "i").Since
		step := func(what string, redrawn bool) {
			t.Helper()
			for range 2 {
				got := m.number(t, "a")
				if (got.Edition != last.Edition) != redrawn || redrawn && got.Edition.Number() <= last.Edition.Number() ||
					got.Seq != 0 || got.Name != last.Name {
					t.Errorf("class %s, %s: %+v, was %+v", class, what, got, last)
				}
				last, redrawn = got, false
			}
		}
		step("nothing", false)
		s = s.Restart()
		m = start()
		step("restart", class != keygen.ClassH)
		for what, redraws := range map[journal.What]bool{
			journal.WhatLedger: false, journal.WhatClock: class != keygen.ClassH, journal.WhatGeneration: true,
		} {
			if err := m.journal.Record(t.Context(), what, 1, 2); err != nil {
				t.Fatal(err)
			}
			step(string(what), redraws)
		}
		snapshot := s.Clone()
		c.pass(time.Minute)
		m.name(t, "later")
		m.number(t, "b")
		m.claim(t)
		s = snapshot
		m = start()
		step("rollback", true)
		if class == keygen.ClassJ {
			continue
		}
		if got := m.name(t, "i"); !got.Replayed || !got.Since.After(since) || !got.Since.Equal(c.now()) {
			t.Errorf("class %s: %+v, memory began %v", class, got, since)
		}
		if got := m.name(t, "later"); got.Replayed || !got.Created.Equal(c.now()) {
			t.Errorf("class %s: %+v", class, got)
		}
	}
}
