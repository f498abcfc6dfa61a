package ledger_test

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/opmint/opmint/ledger"
)

// TestSimulation lets minters, fast and slow, mint for eight weeks: under leases that
// they use in any order, with restarts that bring new identities, and with senders that
// delay their names and repeat them. No name that is sent within the horizon of its
// minting is refused, and none is run again, ever. Who is told that a fresh name is
// expired renews, and goes on.
func TestSimulation(t *testing.T) {
	s := &simulation{rig: newRig(t), r: rand.New(rand.NewPCG(1, 9)), end: 8 * 7 * 24 * time.Hour}
	for i := range 12 {
		m := &minter{id: fmt.Sprint("minter ", i), pause: time.Duration(1+i*i) * 45 * time.Minute}
		s.at(0, func() { s.mint(m) })
	}
	for s.events.Len() > 0 {
		e := heap.Pop(&s.events).(event)
		s.clock.pass(e.at - s.now)
		s.now = e.at
		if s.work(); s.r.IntN(500) == 0 {
			s.restart()
		}
		e.do()
	}
	t.Logf("%d names, %d repeats answered, %d refused, %d sent late and run, %d renewals",
		s.sent, s.replayed, s.expired, s.late, s.renewed)
	if s.sent < 5000 || s.replayed < 1000 || s.expired < 1000 || s.late < 10 || s.renewed < 100 {
		t.Error("that is too few of something")
	}
	rebuilt(t, s.store)
}

type simulation struct {
	*rig
	r        *rand.Rand
	now, end time.Duration
	events   events

	sent, replayed, expired, late, renewed int
}

// minter mints under one identity at a time.
type minter struct {
	id       string
	pause    time.Duration // between its leases
	restarts int
	epoch    uint64
	seq      uint64
}

func (s *simulation) at(after time.Duration, do func()) {
	heap.Push(&s.events, event{at: s.now + after, order: s.r.Uint64(), do: do})
}

// between draws a duration.
func (s *simulation) between(least, most time.Duration) time.Duration {
	return least + time.Duration(s.r.Int64N(int64(most-least)))
}

// lease mints what a lease holds, within its minute and in any order.
func (s *simulation) mint(m *minter) {
	if s.now > s.end {
		return
	}
	if s.r.IntN(50) == 0 {
		m.restarts++
	}
	if s.r.IntN(20) == 0 {
		m.epoch, m.seq = m.epoch+1, 0
	}
	for range 1 + s.r.IntN(3) {
		name := mint(fmt.Sprintf("%s, start %d", m.id, m.restarts), m.epoch, m.seq)
		m.seq++
		s.at(s.between(0, time.Minute), func() { s.send(m, name) })
	}
	s.at(s.between(m.pause/2, m.pause), func() { s.mint(m) })
}

// send sends a name that was minted just now, in its time.
func (s *simulation) send(m *minter, name string) {
	minted, delay := s.now, s.between(0, time.Hour)
	switch s.r.IntN(10) {
	case 0:
		delay = s.between(0, ledger.DefaultHorizon)
	case 1:
		delay = s.between(ledger.DefaultHorizon, 3*ledger.DefaultHorizon)
	}
	s.at(delay, func() { s.first(m, name, minted) })
}

// first is the first time that the ledger sees a name.
func (s *simulation) first(m *minter, name string, minted time.Duration) {
	op, err := s.As(1).Begin(s.t.Context(), ref(name), attempt("h"))
	switch inTime := s.now-minted <= ledger.DefaultHorizon; {
	case err == nil && op.State == ledger.Running:
		s.sent++
		if !inTime {
			s.late++
		}
		s.at(s.between(0, 29*time.Second), func() { s.finish(name, op) })
	case inTime || !errors.Is(err, ledger.ErrExpired):
		s.t.Errorf("sent %v after it was minted: %+v, %v", s.now-minted, op, err)
	default:
		s.renewed++
		m.restarts++
		fresh := mint(fmt.Sprintf("%s, start %d", m.id, m.restarts), m.epoch, m.seq)
		m.seq++
		s.first(m, fresh, s.now)
	}
}

// finish ends an operation, after which its name is repeated now and then.
func (s *simulation) finish(name string, op ledger.Operation) {
	finish(s.t, s.As(1), op, ledger.Applied)
	ended := s.now
	for range s.r.IntN(3) {
		s.at(s.between(0, 3*ledger.DefaultHorizon), func() { s.repeat(name, ended) })
	}
}

func (s *simulation) repeat(name string, ended time.Duration) {
	op, err := s.As(1).Begin(s.t.Context(), ref(name), attempt("again"))
	switch inTime := s.now-ended < ledger.DefaultHorizon; {
	case inTime && err == nil && op.Replayed:
		s.replayed++
	case !inTime && errors.Is(err, ledger.ErrExpired):
		s.expired++
	default:
		s.t.Errorf("repeated %v after its end: %+v, %v", s.now-ended, op, err)
	}
}

// event is what will happen in a simulation.
type event struct {
	at    time.Duration
	order uint64
	do    func()
}

// events are those to come, the next one first.
type events []event

func (e events) Len() int { return len(e) }

func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}

func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

func (e *events) Push(x any) { *e = append(*e, x.(event)) }

func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
