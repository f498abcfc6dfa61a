package journal_test

import (
	"maps"

	"github.com/opmint/opmint/store/storetest"
)

// modelTPM knows its past.
type modelTPM struct {
	*fakeTPM
	moved map[uint64]*folder // who made the counter show a value; nil is a stranger
	back  bool               // it was rolled back, or is one of several
}

func (t *modelTPM) copy() *modelTPM {
	return &modelTPM{fakeTPM: &fakeTPM{state: t.state}, moved: maps.Clone(t.moved), back: true}
}

// moveTo notes that f is behind all increments since the value before.
func (t *modelTPM) moveTo(f *folder, before uint64) {
	if t.moved == nil {
		t.moved = map[uint64]*folder{}
	}
	for value := before + 1; value <= t.value; value++ {
		t.moved[value] = f
	}
}

// foreign reports whether anybody but f moved the counter beyond value.
func (t *modelTPM) foreign(f *folder, value uint64) bool {
	for ; value < t.value; value++ {
		if t.moved[value+1] != f {
			return true
		}
	}
	return false
}

// folder is a state folder. What it should know is kept beside its store.
type folder struct {
	store   *storetest.Memory
	back    bool                // it was rolled back, or is one of several
	highest uint64              // epoch handed out from it
	known   map[[32]byte]uint64 // by incarnation: the highest value it must know
	failed  map[[32]byte]bool   // likewise: a claim or a start failed since
	noticed map[[32]byte]bool   // likewise: it saw the counter go back
}

func newFolder() *folder {
	return &folder{
		store: storetest.NewMemory(),
		known: map[[32]byte]uint64{}, failed: map[[32]byte]bool{}, noticed: map[[32]byte]bool{},
	}
}

func (f *folder) copy() *folder {
	return &folder{
		store: f.store.Clone(), back: true, highest: f.highest,
		known: maps.Clone(f.known), failed: maps.Clone(f.failed), noticed: maps.Clone(f.noticed),
	}
}
