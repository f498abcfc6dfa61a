package journal_test

import (
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store/storetest"
	"pgregory.net/rapid"
)

// What can happen to the machines of the model, besides starts and claims.

// end ends the daemon, as a kill or as a power cut does.
func (m *model) end(t *rapid.T, one *modelMachine) {
	one.daemon = nil
	if rapid.Bool().Draw(t, "power cut") {
		one.folder.store = one.folder.store.Crash()
	} else {
		one.folder.store = one.folder.store.Restart()
	}
}

func (m *model) stop(t *rapid.T) { m.end(t, m.any(t, true)) }

// startFails starts while the first write fails, if there is one.
func (m *model) startFails(t *rapid.T) {
	one := m.any(t, false)
	if m.shared(one.folder) {
		t.Skip("in use")
	}
	one.folder.store.Fail(1, rapid.SampledFrom(storetest.Faults).Draw(t, "fault"))
	_, err := start(t.Context(), one.folder.store, m.class, one.tpm.fakeTPM)
	if err != nil {
		one.folder.failed[one.tpm.incarnation] = true
	}
	m.end(t, one)
}

// stranger increments a counter, as TPM2_NV_Increment in anybody's hands does.
func (m *model) stranger(t *rapid.T) {
	one := rapid.SampledFrom(m.pairs).Draw(t, "machine")
	before := one.tpm.value
	one.tpm.value += rapid.Uint64Range(1, 10).Draw(t, "increments")
	one.tpm.moveTo(nil, before)
}

func (m *model) snapshot(t *rapid.T) {
	one := m.any(t, false)
	if len(m.snapshots) < 5 {
		m.snapshots = append(m.snapshots, modelMachine{tpm: one.tpm.copy(), folder: one.folder.copy()})
	}
}

// parts draws what an event takes hold of.
func parts(t *rapid.T) (tpm, folder bool) {
	what := rapid.SampledFrom([]string{"TPM", "state folder", "both"}).Draw(t, "what")
	return what != "state folder", what != "TPM"
}

// rollBack takes a machine back to a snapshot.
func (m *model) rollBack(t *rapid.T) {
	one := m.any(t, false)
	if len(m.snapshots) == 0 {
		t.Skip("no snapshot")
	}
	then := rapid.SampledFrom(m.snapshots).Draw(t, "snapshot")
	tpm, folder := parts(t)
	if tpm {
		one.tpm.back = true
		one.tpm = then.tpm.copy()
	}
	if folder {
		one.folder.back = true
		one.folder = then.folder.copy()
	}
}

func (m *model) lose(t *rapid.T) {
	one := m.any(t, false)
	tpm, folder := parts(t)
	if tpm {
		one.tpm = &modelTPM{fakeTPM: newTPM()}
	}
	if folder {
		one.folder = newFolder()
	}
}

// clone makes a machine of copies, or with one of the parts of the original.
func (m *model) clone(t *rapid.T) {
	one := m.any(t, false)
	if len(m.pairs) == 4 {
		t.Skip("enough")
	}
	other := *one
	tpm, folder := parts(t)
	if tpm {
		one.tpm.back = true
		other.tpm = one.tpm.copy()
	}
	other.folder = newFolder()
	if folder {
		one.folder.back = true
		other.folder = one.folder.copy()
	}
	m.pairs = append(m.pairs, &other)
}

// define deletes the index and defines it again.
func (m *model) define(t *rapid.T) {
	one := m.any(t, false)
	one.tpm = &modelTPM{fakeTPM: newTPMAt(one.tpm.value + 1)}
}

// tpmGoesBack restores a TPM under a daemon that runs.
func (m *model) tpmGoesBack(t *rapid.T) {
	one := m.any(t, true)
	if m.class == keygen.ClassJ || one.tpm.value == one.tpm.first {
		t.Skip("nowhere to go back to")
	}
	one.tpm.back = true
	one.tpm.value = rapid.Uint64Range(one.tpm.first, one.tpm.value-1).Draw(t, "value")
}
