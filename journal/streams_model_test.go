package journal_test

import (
	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"pgregory.net/rapid"
)

func (m *intentsModel) number(t *rapid.T) {
	intent := modelTexts.Draw(t, "intent")
	got, err := m.running.Number(t.Context(), 1, "s", intent)
	at := len(m.numbers) - 1
	for at >= 0 && m.numbers[at].intent != intent {
		at--
	}
	if at >= 0 && at < m.floor && m.numbers[at].expires+10*journal.DefaultRetain.Milliseconds() <= m.now {
		at = -1
	}
	if at >= 0 && (at < m.floor || uint64(at) < m.base && m.numbers[at].expires <= m.now) {
		m.want(t, err, journal.ErrExpired)
		return
	}
	m.noteNumber(t, intent, at, got, err)
}

// noteNumber takes note of an answer.
func (m *intentsModel) noteNumber(t *rapid.T, intent string, at int, got journal.Numbered, err error) {
	if at < 0 {
		at = len(m.numbers)
		m.numbers = append(m.numbers, modelNumber{
			intent: intent, name: got.Name, expires: m.now + journal.DefaultRetain.Milliseconds(),
		})
	}
	n := m.numbers[at]
	if err != nil || got.Seq != uint64(at) || got.Name != n.name || got.Void != n.void || got.Base != m.base {
		t.Fatalf("%+v, %v, want %d, %+v above base %d", got, err, at, n, m.base)
	}
	m.given(t, got.Name, "number "+intent)
	m.drawn(t, got.Edition)
}

// drawn checks an edition: the one that is known, or one that never was and is
// above it.
func (m *intentsModel) drawn(t *rapid.T, e keygen.Edition) {
	if !m.edition.IsZero() && e != m.edition {
		t.Fatalf("edition %v became %v", m.edition, e)
	}
	if m.edition.IsZero() && (m.editions[e] || e.Number() < m.least) {
		t.Fatalf("edition %v after %v, want %d or more", e, m.editions, m.least)
	}
	m.edition, m.editions[e] = e, true
	if m.until == 0 {
		m.until = m.now + 10*journal.DefaultRetain.Milliseconds()
	}
}

func (m *intentsModel) draw(t *rapid.T) {
	above, err := keygen.NewEdition(rapid.Uint64Range(0, 50).Draw(t, "above"), zeros{})
	m.want(t, err, nil)
	got, err := m.running.NewEdition(t.Context(), 1, "s", above)
	m.want(t, err, nil)
	m.least = 1 + max(above.Number(), m.edition.Number())
	m.edition = keygen.Edition{}
	m.drawn(t, got.Edition)
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func (m *intentsModel) void(t *rapid.T) {
	if m.until == 0 {
		t.Skip("no stream")
	}
	seq := rapid.IntRange(0, len(m.numbers)).Draw(t, "seq")
	err := m.running.Void(t.Context(), 1, "s", uint64(seq))
	switch {
	case seq == len(m.numbers):
		m.want(t, err, journal.ErrUnknown)
	case seq < m.floor || uint64(seq) < m.base && !m.numbers[seq].void:
		m.want(t, err, journal.ErrExpired)
	default:
		m.want(t, err, nil)
		m.numbers[seq].void = true
	}
}

func (m *intentsModel) ack(t *rapid.T) {
	if m.until == 0 {
		t.Skip("no stream")
	}
	below := rapid.Uint64Range(0, uint64(len(m.numbers)+1)).Draw(t, "below")
	err := m.running.Acked(t.Context(), 1, "s", below)
	if below > uint64(len(m.numbers)) {
		m.want(t, err, keygen.ErrInvalid)
		return
	}
	m.want(t, err, nil)
	m.base = max(m.base, below)
}
