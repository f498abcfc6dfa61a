package ledger_test

import (
	"errors"
	"time"

	"github.com/opmint/opmint/ledger"
	"github.com/opmint/opmint/store/storetest"
	"pgregory.net/rapid"
)

func drawName(t *rapid.T) string { return rapid.SampledFrom(modelNames).Draw(t, "name") }

func drawHolder(t *rapid.T) string {
	return rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "holder")
}

// answered checks the answer to a call, and makes next the truth if it is none of the
// refusals.
func (m *model) answered(name string, op ledger.Operation, err, wanted error, next *truth) {
	m.T.Helper()
	if wanted != nil {
		if !errors.Is(err, wanted) {
			m.T.Fatalf("%s: %+v, %v, want %v", name, op, err, wanted)
		}
		return
	}
	if err != nil {
		m.T.Fatalf("%s: %v, want %+v", name, err, next)
	}
	*m.of(name) = *next
	if op.State != m.known(next) || op.Fence != next.fence || op.Holder != next.holder {
		m.T.Fatalf("%s: %+v, want %+v", name, op, next)
	}
}

func (m *model) begin(t *rapid.T) {
	name, holder := drawName(t), drawHolder(t)
	payload := rapid.SampledFrom([]string{"payload", "payload", "payload", "another"}).Draw(t, "payload")
	retry := rapid.Bool().Draw(t, "retry")
	lease := time.Duration(rapid.IntRange(1, 60).Draw(t, "lease")) * time.Second
	tr, now := m.of(name), m.Now()
	next := *tr
	wanted := m.gone(name, tr)
	runs := false
	switch {
	case errors.Is(wanted, ledger.ErrNotFound):
		wanted, runs = nil, true
		next = truth{print: print(payload), retry: retry}
	case wanted != nil:
	case tr.print != print(payload):
		wanted = ledger.ErrMismatch
	case !tr.open():
	case tr.due > now && tr.holder == holder:
	case tr.due > now:
		wanted = ledger.ErrInProgress
	case !tr.retry:
		wanted = ledger.ErrOutcomeUnknown
	default:
		runs = true
	}
	if runs {
		next.state, next.lapsed, next.holder, next.due = ledger.Running, false, holder, now+lease.Milliseconds()
		next.fence++
		next.fences++
	}
	op, err, ok := m.try(name, &next, func(l ledger.Ledger) (ledger.Operation, error) {
		a := ledger.Attempt{Holder: holder, Fingerprint: print(payload), Lease: lease}
		if retry {
			a.Orphan = ledger.OrphanRetry
		}
		return l.Begin(m.T.Context(), ref(name), a)
	})
	if !ok {
		return
	}
	m.answered(name, op, err, wanted, &next)
	if err == nil && op.Replayed != !next.open() {
		m.T.Fatalf("%s: replayed %v, want %+v", name, op.Replayed, next)
	}
	if runs && next.fences > 1 && !next.retry {
		m.T.Fatalf("%s: to be run %d times", name, next.fences)
	}
}

// held is what Extend and Finish check of a hold.
func (m *model) held(name string, tr *truth, holder string, fence uint64) error {
	wanted := m.gone(name, tr)
	if wanted == nil && (tr.holder != holder || tr.fence != fence) {
		wanted = ledger.ErrFenced
	}
	return wanted
}

func drawHold(t *rapid.T, tr *truth) ledger.Hold {
	if rapid.IntRange(0, 3).Draw(t, "own hold") > 0 {
		return ledger.Hold{Holder: tr.holder, Fence: tr.fence}
	}
	return ledger.Hold{Holder: drawHolder(t), Fence: rapid.Uint64Range(0, 3).Draw(t, "fence")}
}

func (m *model) finish(t *rapid.T) {
	name := drawName(t)
	tr := m.of(name)
	hold := drawHold(t, tr)
	outcome := rapid.SampledFrom([]ledger.State{ledger.Applied, ledger.Failed, ledger.Unknown}).Draw(t, "outcome")
	result := rapid.SampledFrom([]string{"ok", "no", string(make([]byte, 600))}).Draw(t, "result")
	next := *tr
	wanted := m.held(name, tr, hold.Holder, hold.Fence)
	if wanted == nil && tr.open() {
		next.state, next.lapsed, next.due, next.result = outcome, false, m.Now(), result
	} else if wanted == nil && (tr.state != outcome || tr.settled || tr.result != result) {
		wanted = ledger.ErrFenced
	}
	op, err, ok := m.try(name, &next, func(l ledger.Ledger) (ledger.Operation, error) {
		return l.Finish(m.T.Context(), ref(name), hold, outcome, &ledger.Result{Body: []byte(result)})
	})
	if ok {
		m.answered(name, op, err, wanted, &next)
	}
}

func (m *model) extend(t *rapid.T) {
	name := drawName(t)
	tr := m.of(name)
	hold := drawHold(t, tr)
	lease := time.Duration(rapid.IntRange(1, 60).Draw(t, "lease")) * time.Second
	next := *tr
	wanted := m.held(name, tr, hold.Holder, hold.Fence)
	if wanted == nil && tr.open() {
		next.state, next.lapsed, next.due = ledger.Running, false, m.Now()+lease.Milliseconds()
	} else if wanted == nil {
		wanted = ledger.ErrFenced
	}
	op, err, ok := m.try(name, &next, func(l ledger.Ledger) (ledger.Operation, error) {
		return l.Extend(m.T.Context(), ref(name), hold, lease)
	})
	if ok {
		m.answered(name, op, err, wanted, &next)
	}
}

func (m *model) settle(t *rapid.T) {
	name := drawName(t)
	tr := m.of(name)
	outcome := rapid.SampledFrom([]ledger.State{ledger.Applied, ledger.Failed}).Draw(t, "outcome")
	next := *tr
	wanted := m.gone(name, tr)
	switch {
	case wanted != nil, tr.state == outcome:
	case m.known(tr) == ledger.Running:
		wanted = ledger.ErrInProgress
	case m.known(tr) == ledger.Unknown:
		next.state, next.lapsed, next.settled, next.due = outcome, false, true, m.Now()
	default:
		wanted = ledger.ErrFenced
	}
	op, err, ok := m.try(name, &next, func(l ledger.Ledger) (ledger.Operation, error) {
		return l.Settle(m.T.Context(), ref(name), outcome, nil)
	})
	if ok {
		m.answered(name, op, err, wanted, &next)
	}
}

func (m *model) absorb(t *rapid.T) {
	name := drawName(t)
	payload := rapid.SampledFrom([]string{"payload", "payload", "another"}).Draw(t, "payload")
	tr := m.of(name)
	next := *tr
	wanted := ledger.VerdictSeen
	switch gone := m.gone(name, tr); {
	case errors.Is(gone, ledger.ErrNotFound):
		wanted = ledger.VerdictFresh
		next = truth{state: ledger.Applied, print: print(payload), due: m.Now()}
	case gone != nil:
		wanted = ledger.VerdictExpired
	case tr.print != print(payload):
		wanted = ledger.VerdictMismatch
	default:
		wanted = map[ledger.State]ledger.Verdict{
			ledger.Running: ledger.VerdictRunning, ledger.Applied: ledger.VerdictSeen,
			ledger.Failed: ledger.VerdictFailed, ledger.Unknown: ledger.VerdictUnknown,
		}[m.known(tr)]
	}
	var verdicts []ledger.Verdict
	_, err, ok := m.try(name, &next, func(l ledger.Ledger) (_ ledger.Operation, err error) {
		items := []ledger.Item{{Name: name, Fingerprint: print(payload)}}
		verdicts, err = l.Absorb(m.T.Context(), "s", items)
		return ledger.Operation{}, err
	})
	if !ok {
		return
	}
	if err != nil || verdicts[0] != wanted {
		m.T.Fatalf("%s: %q, %v, want %q of %+v", name, verdicts, err, wanted, tr)
	}
	*tr = next
}

func (m *model) timePasses(t *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{
		time.Millisecond, 10 * time.Second, time.Minute, 3 * time.Hour, 100 * time.Hour, 200 * time.Hour, 3000 * time.Hour,
	}).Draw(t, "duration")
	m.clock.pass(d)
	m.work()
}

func (m *model) restartOrCrash(t *rapid.T) {
	m.reopen(rapid.Bool().Draw(t, "power lost"))
	m.work()
}

func (m *model) clockIsSet(t *rapid.T) {
	m.clock.set(rapid.SampledFrom([]time.Duration{
		-time.Hour, time.Hour, -30 * 365 * 24 * time.Hour, 30 * 365 * 24 * time.Hour, 10 * time.Second,
	}).Draw(t, "by"))
}

func (m *model) setHorizon(t *rapid.T) {
	horizon := rapid.SampledFrom([]time.Duration{time.Second, time.Hour, ledger.DefaultHorizon}).Draw(t, "horizon")
	cut := m.expired()
	_, err := m.As(1).SetHorizon(m.T.Context(), "s", horizon)
	if err != nil {
		m.broken(err)
		s, err := m.As(1).Scope(m.T.Context(), "s")
		if err != nil {
			m.T.Fatalf("Scope: %v", err)
		}
		horizon = s.Horizon
	}
	if horizon != m.horizon {
		m.cut, m.horizon = cut, horizon
	}
	m.work()
}

func (m *model) fault(t *rapid.T) {
	m.store.Fail(1, rapid.SampledFrom(storetest.Faults).Draw(t, "fault"))
}
