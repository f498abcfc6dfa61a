package journal_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
	"pgregory.net/rapid"
)

// TestModel takes machines through starts, claims, faults, rollbacks, losses and
// clones of their TPMs and state folders at random, and compares what they hand
// out and notice with what has really happened.
func TestModel(t *testing.T) {
	for _, class := range classes {
		t.Run("class "+class.String(), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				m := &model{class: class, handed: map[pair]*folder{}}
				m.pairs = []*modelMachine{{tpm: &modelTPM{fakeTPM: newTPM()}, folder: newFolder()}}
				rt.Repeat(map[string]func(*rapid.T){
					"start":         m.start,
					"start fails":   m.startFails,
					"stop":          m.stop,
					"claim":         m.claim,
					"claims":        m.claim,
					"TPM fails":     m.claimTPMFails,
					"store fails":   m.claimStoreFails,
					"stranger":      m.stranger,
					"snapshot":      m.snapshot,
					"roll back":     m.rollBack,
					"lose":          m.lose,
					"clone":         m.clone,
					"define anew":   m.define,
					"TPM goes back": m.tpmGoesBack,
				})
			})
		})
	}
}

type pair struct {
	identity keygen.Identity
	epoch    uint64
}

type model struct {
	class     keygen.Class
	pairs     []*modelMachine
	snapshots []modelMachine
	handed    map[pair]*folder // every epoch, and by which folder it was handed out
}

// modelMachine is a TPM and a state folder; a daemon runs on them or does not.
type modelMachine struct {
	tpm    *modelTPM
	folder *folder
	daemon *daemon
}

// any draws a machine, which runs or not.
func (m *model) any(t *rapid.T, running bool) *modelMachine {
	var all []*modelMachine
	for _, one := range m.pairs {
		if (one.daemon != nil) == running {
			all = append(all, one)
		}
	}
	if len(all) == 0 {
		t.Skip("no such machine")
	}
	return rapid.SampledFrom(all).Draw(t, "machine")
}

func (m *model) start(t *rapid.T) {
	one := m.any(t, false)
	if m.shared(one.folder) {
		t.Skip("in use")
	}
	d, err := start(t.Context(), one.folder.store, m.class, one.tpm.fakeTPM)
	if err != nil {
		t.Fatal(err)
	}
	one.daemon = d
	if m.class != keygen.ClassJ {
		m.checkNoticed(t, one)
	}
}

// shared reports whether another machine runs on the folder.
func (m *model) shared(f *folder) bool {
	return slices.ContainsFunc(m.pairs, func(one *modelMachine) bool { return one.folder == f && one.daemon != nil })
}

// checkNoticed checks what a start has noticed, and what follows from it.
func (m *model) checkNoticed(t *rapid.T, one *modelMachine) {
	f, tpm, d := one.folder, one.tpm, one.daemon
	inc := tpm.incarnation
	known, ok := f.known[inc]
	if !ok {
		known = tpm.first
	}
	got := d.standing.Rollback.What
	switch went := tpm.value < known; {
	case f.failed[inc] && tpm.back:
		// It may know more than it must.
	case went != (got == journal.WhatTPM):
		t.Fatalf("the counter shows %d, %d is known: noticed %q", tpm.value, known, got)
	case went:
	case !tpm.back && !tpm.foreign(f, known) && got != "":
		t.Fatalf("only this folder's increments from %d to %d: noticed %q", known, tpm.value, got)
	case !f.failed[inc] && tpm.value > known && got != journal.WhatJournal:
		t.Fatalf("increments that it cannot know from %d to %d: noticed %q", known, tpm.value, got)
	}
	if got == journal.WhatTPM && !tpm.back {
		t.Fatalf("a false rollback: %+v", d.standing.Rollback)
	}
	if all := whats(t, d.journal); got != "" && (len(all) == 0 || all[len(all)-1] != got) {
		t.Fatalf("rollbacks %v, want a new one of %s", all, got)
	}
	f.noticed[inc] = f.noticed[inc] || got == journal.WhatTPM
	if f.noticed[inc] && !d.standing.Demoted || !tpm.back && d.standing.Demoted {
		t.Fatalf("demoted %v, went back %v, noticed %v", d.standing.Demoted, tpm.back, f.noticed[inc])
	}
	f.known[inc], f.failed[inc] = tpm.value, false
}

// claim claims an epoch without any fault.
func (m *model) claim(t *rapid.T) {
	one := m.any(t, true)
	f, tpm, d := one.folder, one.tpm, one.daemon
	before := tpm.value
	epoch, err := d.counter.Next(t.Context())
	tpm.moveTo(f, before)
	inc := tpm.incarnation
	noticed := errors.Is(err, journal.ErrRolledBack)
	switch went := m.class != keygen.ClassJ && tpm.value <= f.known[inc]; {
	case noticed && !went && !(f.failed[inc] && tpm.back), !noticed && (went || err != nil):
		t.Fatalf("the counter shows %d, %d is known: %v", tpm.value, f.known[inc], err)
	case noticed:
		f.known[inc], f.failed[inc], f.noticed[inc] = tpm.value, false, true
		one.daemon = nil
		return
	}
	f.known[inc], f.failed[inc] = tpm.value, false
	p := pair{d.counter.Identity(), epoch}
	if other, ok := m.handed[p]; ok && !(d.class == keygen.ClassH && tpm.back && (f.back || other.back)) {
		t.Fatalf("epoch %v was handed out twice", p)
	}
	m.handed[p] = f
	if d.class != keygen.ClassH && epoch <= f.highest || d.class == keygen.ClassV && epoch <= tpm.value {
		t.Fatalf("class %s: epoch %d after %d, the counter shows %d", d.class, epoch, f.highest, tpm.value)
	}
	f.highest = max(f.highest, epoch)
	if _, here, err := d.journal.Lookup(t.Context(), d.class, p.identity, epoch); err != nil || !here {
		t.Fatalf("epoch %v: known %v, %v", p, here, err)
	}
}

// claimTPMFails claims while the TPM fails, before or after increments.
func (m *model) claimTPMFails(t *rapid.T) {
	one := m.any(t, true)
	if m.class == keygen.ClassJ {
		t.Skip("no TPM")
	}
	before := one.tpm.value
	one.tpm.fault = loses(rapid.Uint64Range(0, journal.MaxTries).Draw(t, "increments"))
	_, err := one.daemon.counter.Next(t.Context())
	one.tpm.fault = nil
	one.tpm.moveTo(one.folder, before)
	m.failed(t, one, err)
}

// claimStoreFails claims while one of the writes fails.
func (m *model) claimStoreFails(t *rapid.T) {
	one := m.any(t, true)
	before := one.tpm.value
	write := rapid.IntRange(1, 2).Draw(t, "write")
	if m.class == keygen.ClassJ || one.folder.failed[one.tpm.incarnation] {
		write = 1 // There may be no other.
	}
	one.folder.store.Fail(write, rapid.SampledFrom(storetest.Faults).Draw(t, "fault"))
	_, err := one.daemon.counter.Next(t.Context())
	one.tpm.moveTo(one.folder, before)
	m.failed(t, one, err)
}

// failed ends a claim that must have failed.
func (m *model) failed(t *rapid.T, one *modelMachine, err error) {
	if err == nil {
		t.Fatal("no error")
	}
	one.folder.failed[one.tpm.incarnation] = true
	if errors.Is(err, store.ErrOutcomeUnknown) || errors.Is(err, journal.ErrRolledBack) {
		m.end(t, one)
	}
}
