package journal_test

import (
	"slices"
	"testing"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store/storetest"
)

// machine is a TPM and a state folder.
type machine struct {
	tpm    *fakeTPM
	folder *storetest.Memory
	want   map[keygen.Class]string // classes and rollbacks after the event
}

func (m *machine) copyTPM() *fakeTPM { return &fakeTPM{state: m.tpm.state} }

// run is a start with five names from two or more epochs.
func (m *machine) run(t *testing.T, class keygen.Class, names map[string]bool) *daemon {
	t.Helper()
	m.folder = m.folder.Restart()
	d := started(t, m.folder, class, m.tpm)
	minter, err := keygen.NewMinter(t.Context(), keygen.MinterConfig{
		Class: d.class, Identity: d.counter.Identity(), Counter: d.counter, NamesPerEpoch: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		lease, err := minter.Lease(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		name, err := lease.Name(0)
		if err != nil {
			t.Fatal(err)
		}
		if names[name.String()] {
			t.Errorf("%s was minted twice", name)
		}
		names[name.String()] = true
		if _, here, err := d.journal.Lookup(t.Context(), name.Class(), name.Identity(), name.Epoch()); err != nil || !here {
			t.Errorf("epoch of %s: known %v, %v", name, here, err)
		}
	}
	return d
}

// events are the rows of the table of promises, and what a rollback, a loss or a
// clone does to the TPM, the state folder and both. Each gets a machine and a copy
// of it from three starts ago, and returns the machines that start next. What is
// wanted of them is, by class, the class after a start, and what was noticed by
// its end.
var events = map[string]func(now, then machine) []machine{
	"nothing": func(now, _ machine) []machine {
		return []machine{{now.tpm, now.folder, wants("h", "v")}}
	},
	"two daemons on one TPM": func(now, _ machine) []machine {
		// The second was there for longer than the journal of the first knows.
		now.tpm.value++
		return []machine{
			{now.tpm, now.folder, wants("h journal", "v journal")},
			{now.tpm, storetest.NewMemory(), wants("h journal", "v journal")},
		}
	},
	"TPM2_Clear, NV index deleted and defined again": func(now, _ machine) []machine {
		return []machine{{newTPMAt(now.tpm.value + 1), now.folder, wants("h", "v")}}
	},
	"TPM lost": func(now, _ machine) []machine {
		return []machine{{newTPM(), now.folder, wants("h", "v")}}
	},
	"TPM rolled back": func(now, then machine) []machine {
		return []machine{{then.tpm, now.folder, wants("v tpm", "v tpm")}}
	},
	"TPM rolled back, then used by somebody else": func(now, then machine) []machine {
		then.tpm.value += 100
		return []machine{{then.tpm, now.folder, wants("h journal", "v journal")}}
	},
	"TPM cloned": func(now, _ machine) []machine {
		return []machine{
			{now.tpm, now.folder, wants("h", "v")},
			{now.copyTPM(), storetest.NewMemory(), wants("h journal", "v journal")},
		}
	},
	"state folder lost": func(now, _ machine) []machine {
		return []machine{{now.tpm, storetest.NewMemory(), wants("h journal", "v journal")}}
	},
	"state folder rolled back": func(now, then machine) []machine {
		return []machine{{now.tpm, then.folder, wants("h journal", "v journal")}}
	},
	"state folder cloned": func(now, _ machine) []machine {
		return []machine{
			{now.tpm, now.folder, wants("h", "v")},
			{now.tpm, now.folder.Clone(), wants("h journal", "v journal")},
		}
	},
	"both rolled back together": func(_, then machine) []machine {
		return []machine{{then.tpm, then.folder, wants("h", "v")}}
	},
	"both lost": func(machine, machine) []machine {
		return []machine{{newTPM(), storetest.NewMemory(), wants("h", "v")}}
	},
	"both cloned": func(now, _ machine) []machine {
		return []machine{
			{now.tpm, now.folder, wants("h", "v")},
			{now.copyTPM(), now.folder.Clone(), wants("h", "v")},
		}
	},
}

// wants is what is wanted of classes h and v; in class j nothing is noticed.
func wants(h, v string) map[keygen.Class]string {
	return map[keygen.Class]string{keygen.ClassH: h, keygen.ClassV: v, keygen.ClassJ: "j"}
}

func TestTableOfPromises(t *testing.T) {
	for event, happen := range events {
		for _, class := range classes {
			t.Run(event+", class "+class.String(), func(t *testing.T) {
				names := map[string]bool{}
				now := machine{tpm: newTPM(), folder: storetest.NewMemory()}
				now.run(t, class, names)
				then := machine{tpm: now.copyTPM(), folder: now.folder.Clone()}
				for range 3 {
					now.run(t, class, names)
				}
				after := happen(now, then)
				for i, m := range after {
					d := m.run(t, class, names)
					if got := told(t, d); got != m.want[class] {
						t.Errorf("machine %d: %s, want %s", i, got, m.want[class])
					}
					if d = m.run(t, class, names); told(t, d) != m.want[class] {
						t.Errorf("machine %d, at the next start: %s, want %s", i, told(t, d), m.want[class])
					}
				}
			})
		}
	}
}

// told returns the class and what was noticed.
func told(t *testing.T, d *daemon) string {
	t.Helper()
	text := d.class.String()
	for _, what := range whats(t, d.journal) {
		text += " " + string(what)
	}
	return text
}

// TestTwoDaemonsOnOneTPM has them start in turn: each notices once a start that
// there is more than it knows, is not demoted, and does not remember it for ever.
func TestTwoDaemonsOnOneTPM(t *testing.T) {
	names, tpm := map[string]bool{}, newTPM()
	a, b := machine{tpm: tpm, folder: storetest.NewMemory()}, machine{tpm: tpm, folder: storetest.NewMemory()}
	const starts = journal.KeptRollbacks + 10
	for i := range starts {
		for _, m := range []*machine{&a, &b} {
			d := m.run(t, keygen.ClassH, names)
			noticed := min(i, journal.KeptRollbacks)
			if m == &b {
				noticed = min(i+1, journal.KeptRollbacks)
			}
			want := slices.Repeat([]journal.What{journal.WhatJournal}, noticed)
			if got := whats(t, d.journal); d.class != keygen.ClassH || !slices.Equal(got, want) {
				t.Fatalf("start %d: class %s, rollbacks %v, want h, %v", i, d.class, got, want)
			}
		}
	}
	if len(names) != starts*2*5 {
		t.Errorf("%d names", len(names))
	}
}

// TestTwoDaemonsRunning has them claim in turn while both run: nothing is noticed.
func TestTwoDaemonsRunning(t *testing.T) {
	tpm := newTPM()
	a := started(t, storetest.NewMemory(), keygen.ClassH, tpm)
	b := started(t, storetest.NewMemory(), keygen.ClassH, tpm)
	seen := map[uint64]bool{}
	for range 100 {
		for _, d := range []*daemon{a, b} {
			tpm.value++ // somebody's TPM2_NV_Increment
			if epoch := d.claim(t); seen[epoch] {
				t.Errorf("epoch %d was claimed twice", epoch)
			} else {
				seen[epoch] = true
			}
		}
	}
	for _, d := range []*daemon{a, b} {
		if got := whats(t, d.journal); got != nil {
			t.Errorf("rollbacks %v", got)
		}
	}
}
