package journal_test

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
	"pgregory.net/rapid"
)

// TestIntentsModel takes a journal of class h through names, numbers, faults, time,
// restarts and rollbacks at random, and compares it with what it must remember.
func TestIntentsModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &intentsModel{
			disk: storetest.NewMemory(), tpm: newTPM(), clocks: newClocks(),
			names: map[keygen.Name]string{}, editions: map[keygen.Edition]bool{},
			past: past{intents: map[string]modelIntent{}, tombs: map[string]int64{}},
		}
		m.restart(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"name": m.name, "name again": m.name, "number": m.number, "number again": m.number,
			"delete": m.delete, "void": m.void, "ack": m.ack, "draw": m.draw,
			"fault": m.fault, "time": m.passTime, "restart": m.restart, "snapshot": m.snapshot, "roll back": m.rollBack,
		})
	})
}

// intentsModel is a journal, and what is known of it from outside.
type intentsModel struct {
	disk    *storetest.Memory
	tpm     *fakeTPM
	clocks  *clocks
	running *memory

	past                             // now
	then     *past                   // to which it can go back
	names    map[keygen.Name]string  // all that were ever given, and for what
	editions map[keygen.Edition]bool // all that were ever drawn
}

// past is what a rollback takes back.
type past struct {
	disk0   *storetest.Memory
	intents map[string]modelIntent
	tombs   map[string]int64
	numbers []modelNumber
	base    uint64
	floor   int            // of what is not forgotten
	until   int64          // when the stream is forgotten; 0: there is none
	edition keygen.Edition // zero: there was none, or another is to be drawn
	least   uint64         // number of the next edition, at least
	now     int64          // the journal's time, in ms
	saved   int64          // of it, as it is on the disk
	walled  int64          // what the wall clock showed then
}

type modelIntent struct {
	name            keygen.Name
	print           journal.Fingerprint
	expires, retain int64
}

type modelNumber struct {
	intent  string
	name    keygen.Name
	void    bool
	expires int64
}

var (
	modelTexts  = rapid.SampledFrom([]string{"a", "b", "..", "a/b", "\x00"})
	modelPrints = rapid.SampledFrom([]journal.Fingerprint{{}, fingerprint("p"), fingerprint("q")})
)

func (m *intentsModel) name(t *rapid.T) {
	ask := journal.Ask{
		Intent: modelTexts.Draw(t, "intent"), Fingerprint: modelPrints.Draw(t, "fingerprint"),
		Retain: rapid.SampledFrom([]time.Duration{0, time.Minute, horizon}).Draw(t, "retain"),
	}
	got, err := m.running.Name(t.Context(), 1, ask)
	known, ok := m.intents[ask.Intent]
	switch {
	case m.dead(ask.Intent):
		m.want(t, err, journal.ErrExpired)
	case ok && known.print != ask.Fingerprint:
		m.want(t, err, journal.ErrMismatch)
	case err != nil || got.Replayed != ok || ok && got.Name != known.name:
		t.Fatalf("%+v, %v, known is %+v", got, err, known)
	default:
		m.noteIntent(t, ask, got)
	}
}

// noteIntent takes note of an answer.
func (m *intentsModel) noteIntent(t *rapid.T, ask journal.Ask, got journal.Intent) {
	m.given(t, got.Name, "intent "+ask.Intent)
	if !got.Replayed {
		retain := got.Expires.Sub(got.Created).Milliseconds()
		m.intents[ask.Intent] = modelIntent{got.Name, ask.Fingerprint, m.now + retain, retain}
	}
}

// given checks that a name is for one thing only, in all histories.
func (m *intentsModel) given(t *rapid.T, name keygen.Name, to string) {
	if before, ok := m.names[name]; ok && before != to {
		t.Fatalf("%s is given to %q and to %q", name, before, to)
	}
	m.names[name] = to
}

// dead reports whether an intent is forgotten.
func (m *intentsModel) dead(intent string) bool {
	known, ok := m.intents[intent]
	return ok && known.expires <= m.now || m.tombs[intent] > m.now
}

func (m *intentsModel) want(t *rapid.T, err, want error) {
	if !errors.Is(err, want) {
		t.Fatalf("%v, want %v", err, want)
	}
}

func (m *intentsModel) delete(t *rapid.T) {
	intent := modelTexts.Draw(t, "intent")
	err := m.running.Delete(t.Context(), 1, intent)
	_, ok := m.intents[intent]
	switch {
	case m.dead(intent):
		m.want(t, err, journal.ErrExpired)
	case !ok:
		m.want(t, err, journal.ErrUnknown)
	default:
		m.want(t, err, nil)
		delete(m.intents, intent)
	}
}

// fault lets a write fail, ends the process if it must, and asks again.
func (m *intentsModel) fault(t *rapid.T) {
	intent := modelTexts.Draw(t, "intent")
	if _, ok := m.intents[intent]; ok || m.dead(intent) {
		t.Skip("nothing to write")
	}
	m.disk.Fail(1, rapid.SampledFrom(storetest.Faults).Draw(t, "fault"))
	_, err := m.running.Name(t.Context(), 1, journal.Ask{Intent: intent})
	m.want(t, err, storetest.ErrFault)
	if errors.Is(err, store.ErrOutcomeUnknown) {
		m.restart(t)
	}
	got, err := m.running.Name(t.Context(), 1, journal.Ask{Intent: intent})
	m.want(t, err, nil)
	got.Replayed = false // kept or not: it is new to us
	m.noteIntent(t, journal.Ask{Intent: intent}, got)
}

// passTime lets time pass, and forgets what is due.
func (m *intentsModel) passTime(t *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{time.Millisecond, time.Minute, journal.DefaultRetain}).Draw(t, "time")
	m.clocks.pass(d)
	m.now += d.Milliseconds()
	for {
		wait, err := m.running.KeepStep(t.Context())
		m.want(t, err, nil)
		if wait > 0 {
			break
		}
	}
	m.saved, m.walled = m.now, m.clocks.wall.Load()
	maps.DeleteFunc(m.tombs, func(_ string, until int64) bool { return until <= m.now })
	for intent, known := range m.intents {
		if known.expires <= m.now {
			delete(m.intents, intent)
			m.tombs[intent] = known.expires + 10*known.retain
		}
	}
	for m.floor < int(m.base) && m.numbers[m.floor].expires <= m.now {
		m.until = max(m.until, m.numbers[m.floor].expires+10*journal.DefaultRetain.Milliseconds())
		m.floor++
	}
	if m.until > 0 && m.floor == len(m.numbers) && m.until <= m.now {
		m.least, m.edition = m.edition.Number()+1, keygen.Edition{}
		m.numbers, m.base, m.floor, m.until = nil, 0, 0, 0
	}
}

// restart ends the process, in one way or the other, and starts another.
func (m *intentsModel) restart(t *rapid.T) {
	if rapid.Bool().Draw(t, "power") {
		m.disk = m.disk.Crash()
	} else {
		m.disk = m.disk.Restart()
	}
	m.start(t)
}

func (m *intentsModel) start(t *rapid.T) {
	var err error
	m.running, err = remember(t.Context(), m.disk, keygen.ClassH, m.tpm, m.clocks)
	m.want(t, err, nil)
	m.now = m.saved
	if m.walled > 0 {
		m.now += min(m.clocks.wall.Load()-m.walled, time.Hour.Milliseconds())
	}
}

func (m *intentsModel) snapshot(*rapid.T) {
	then := m.past
	then.disk0 = m.disk.Clone()
	then.intents, then.tombs, then.numbers = maps.Clone(m.intents), maps.Clone(m.tombs), slices.Clone(m.numbers)
	m.then = &then
}

// rollBack puts the journal back, and not the TPM, which has gone on.
func (m *intentsModel) rollBack(t *rapid.T) {
	if m.then == nil {
		t.Skip("no snapshot")
	}
	_, err := m.running.counter.Next(t.Context())
	m.want(t, err, nil)
	m.past, m.then = *m.then, nil
	m.disk = m.disk0
	m.start(t)
	if m.running.standing.Rollback.What != journal.WhatJournal {
		t.Fatalf("noticed %+v", m.running.standing.Rollback)
	}
	m.least = m.edition.Number() + 1
	m.edition = keygen.Edition{}
}
