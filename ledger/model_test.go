package ledger_test

import (
	"errors"
	"testing"
	"time"

	"github.com/opmint/opmint/ledger"
	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
	"pgregory.net/rapid"
)

// TestModel lets several callers use a few names at random, while processes and
// machines crash, writes are lost, or kept and reported lost, and clocks go wrong; and
// compares each answer with a model that has none of that: truth. At every moment each
// name has the one state that the model says, and the log rebuilds the ledger.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{rig: newRig(rt), T: rt, truths: map[string]*truth{}, horizon: ledger.DefaultHorizon}
		rt.Repeat(map[string]func(*rapid.T){
			"begin":       m.begin,
			"begin again": m.begin,
			"finish":      m.finish,
			"finish soon": m.finish,
			"extend":      m.extend,
			"settle":      m.settle,
			"absorb":      m.absorb,
			"time passes": m.timePasses,
			"restart":     m.restartOrCrash,
			"clock":       m.clockIsSet,
			"horizon":     m.setHorizon,
			"fault":       m.fault,
			"":            m.compare,
		})
	})
}

type model struct {
	*rig
	*rapid.T
	truths  map[string]*truth // by name
	cut     int64             // what ended until then is expired
	horizon time.Duration
}

// truth is all there is to know of a name; the zero truth: it never began.
type truth struct {
	state   ledger.State // "": it never began, or is forgotten
	holder  string
	fence   uint64
	retry   bool
	print   ledger.Fingerprint
	due     int64 // end of the lease, or when it ended
	lapsed  bool
	settled bool
	result  string
	buried  int64 // when it was forgotten; 0: it was not
	fences  int   // how often it was to be run
}

var modelNames = []string{
	mint("a", 1, 1), mint("a", 1, 2), mint("a", 1, 2, "fork"), mint("a", 2, 0), mint("b", 9, 9),
	mint("a", 1, 1) + "_undo", "foreign", "b2a9c7f0-0000-4000-8000-00000000000a",
}

func (m *model) of(name string) *truth {
	if m.truths[name] == nil {
		m.truths[name] = &truth{}
	}
	return m.truths[name]
}

// expired returns when what ended is expired.
func (m *model) expired() int64 { return max(m.cut, m.Now()-m.horizon.Milliseconds()) }

// known is the state that callers see.
func (m *model) known(tr *truth) ledger.State {
	if tr.state == ledger.Running && tr.due <= m.Now() {
		return ledger.Unknown
	}
	return tr.state
}

func (tr *truth) open() bool { return tr.state == ledger.Running || tr.lapsed }

func (tr *truth) ends() bool { return tr.state == ledger.Applied || tr.state == ledger.Failed }

// gone says why a name is not answered: it is forgotten, or it should be.
func (m *model) gone(name string, tr *truth) error {
	switch {
	case tr.ends() && tr.due <= m.expired(), tr.state == "" && tr.buried > 0:
		return ledger.ErrExpired
	case tr.state == "" && m.sunk(name):
		return ledger.ErrExpired
	case tr.state == "":
		return ledger.ErrNotFound
	}
	return nil
}

// sunk reports whether a name is at or below a floor: one that is not below it was
// forgotten.
func (m *model) sunk(name string) bool {
	const atSeq, atTag, length = 22, 40, 58
	if len(name) != length {
		return false
	}
	for other, tr := range m.truths {
		if tr.buried > 0 && len(other) == length && other[:atSeq] == name[:atSeq] && other[:atTag] >= name[:atTag] {
			return true
		}
	}
	return false
}

// work lets the ledger do its work, and the truth follow.
func (m *model) work() {
	steps := 0
	for more := true; more; steps++ {
		var err error
		if more, err = m.Step(m.T.Context()); err != nil {
			m.broken(err)
			more = true
		}
		if steps > 1000 {
			m.T.Fatalf("the work has no end: %v", err)
		}
	}
	now := m.Now()
	for name, tr := range m.truths {
		if tr.state == ledger.Running && tr.due <= now {
			tr.state, tr.lapsed = ledger.Unknown, true
		}
		if tr.ends() && tr.due+ledger.Slack <= m.expired() {
			*tr = truth{buried: now, fences: tr.fences}
		}
		if tr.buried > 0 && len(name) != 58 && tr.buried <= now-10*m.horizon.Milliseconds() {
			*tr = truth{}
		}
	}
}

// broken restarts after an error that must be an injected one, if need be.
func (m *model) broken(err error) {
	if !errors.Is(err, ledger.ErrUnavailable) || !errors.Is(err, storetest.ErrFault) {
		m.T.Fatalf("%v", err)
	}
	if errors.Is(err, store.ErrOutcomeUnknown) {
		m.reopen(rapid.Bool().Draw(m.T, "power lost"))
	}
}

func (m *model) reopen(powerLost bool) {
	before := m.Now()
	if powerLost {
		m.store = m.store.Crash()
	} else {
		m.store = m.store.Restart()
	}
	m.open()
	if after := m.Now(); after > before+time.Hour.Milliseconds() {
		m.T.Fatalf("a stop counts as %d ms", after-before)
	}
}

// try makes a call; answered is nil where the fault of a write came between. Then
// either next or the truth as it was is what the ledger shows.
func (m *model) try(name string, next *truth, call func(l ledger.Ledger) (ledger.Operation, error)) (ledger.Operation, error, bool) {
	op, err := call(m.As(1))
	if !errors.Is(err, ledger.ErrUnavailable) {
		return op, err, true
	}
	m.broken(err)
	tr := m.of(name)
	if seen := m.look(name); next != nil && m.same(next, seen) {
		*tr = *next
	}
	m.work()
	return op, err, false
}

func (m *model) look(name string) ledger.Operation {
	op, err := m.As(1).Lookup(m.T.Context(), ref(name))
	if err != nil && !errors.Is(err, ledger.ErrNotFound) && !errors.Is(err, ledger.ErrExpired) {
		m.T.Fatalf("Lookup: %v", err)
	}
	return op
}

// same reports whether an operation is what the truth says.
func (m *model) same(tr *truth, op ledger.Operation) bool {
	result := ""
	if op.Result != nil {
		result = string(op.Result.Body)
	}
	if expires := max(m.clock.Wall().UnixMilli(), 1) + tr.due - m.Now(); tr.open() && op.LeaseExpires.UnixMilli() != expires {
		return false
	}
	return op.State == m.known(tr) && op.Holder == tr.holder && op.Fence == tr.fence && op.Fingerprint == tr.print &&
		op.Settled == tr.settled && result == tr.result
}

// compare compares all names with the truth, and the ledger with its log.
func (m *model) compare(*rapid.T) {
	counts := ledger.Counts{}
	for _, name := range modelNames {
		tr := m.of(name)
		op, err := m.As(1).Lookup(m.T.Context(), ref(name))
		if wanted := m.gone(name, tr); wanted != nil || err != nil {
			if !errors.Is(err, wanted) || wanted == nil {
				m.T.Fatalf("%s: %v, want %v of %+v", name, err, wanted, tr)
			}
		} else if !m.same(tr, op) {
			m.T.Fatalf("%s: %+v, want %+v", name, op, tr)
		}
		switch tr.state {
		case ledger.Running:
			counts.Running++
		case ledger.Applied:
			counts.Applied++
		case ledger.Failed:
			counts.Failed++
		case ledger.Unknown:
			counts.Unknown++
		}
	}
	s, err := m.As(1).Scope(m.T.Context(), "s")
	if s.Floors, s.Tombstones, s.Forked = 0, 0, 0; err != nil || s.Counts != counts {
		m.T.Fatalf("%+v, %v, want %+v", s, err, counts)
	}
	rebuilt(m.T, m.store)
}
