package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/opmint/opmint/ledger"
)

// tale is a course of events of one name. Each step is an action of holder a or b and
// what must come of it.
type tale struct {
	name   string
	orphan ledger.Orphan
	steps  []step
}

type step struct {
	do     string // who does what, see teller.do
	err    error
	state  ledger.State // of the answer
	fence  uint64       // of the answer; 0: any
	replay bool
}

var tales = []tale{
	{"the usual", "", []step{
		{do: "a begins", state: ledger.Running, fence: 1},
		{do: "b begins", err: ledger.ErrInProgress},
		{do: "a applies", state: ledger.Applied},
		{do: "b begins", state: ledger.Applied, replay: true},
		{do: "a begins", state: ledger.Applied, replay: true},
	}},
	{"lost answers", "", []step{
		{do: "a begins", state: ledger.Running, fence: 1},
		{do: "a begins", state: ledger.Running, fence: 1},
		{do: "restart"},
		{do: "a begins", state: ledger.Running, fence: 1},
		{do: "a applies", state: ledger.Applied},
		{do: "a applies", state: ledger.Applied},
		{do: "restart"},
		{do: "a applies", state: ledger.Applied},
		{do: "a applies with another result", err: ledger.ErrFenced},
		{do: "a fails", err: ledger.ErrFenced},
		{do: "a gives up", err: ledger.ErrFenced},
	}},
	{"failed stays failed", "", []step{
		{do: "a begins", state: ledger.Running},
		{do: "a fails", state: ledger.Failed},
		{do: "b begins", state: ledger.Failed, replay: true},
		{do: "a applies", err: ledger.ErrFenced},
		{do: "settle applied", err: ledger.ErrFenced},
		{do: "settle failed", state: ledger.Failed},
	}},
	{"unknown stays unknown until it is settled", "", []step{
		{do: "a begins", state: ledger.Running},
		{do: "settle applied", err: ledger.ErrInProgress},
		{do: "a gives up", state: ledger.Unknown},
		{do: "b begins", state: ledger.Unknown, replay: true},
		{do: "a applies", err: ledger.ErrFenced},
		{do: "1000h pass"},
		{do: "b begins", state: ledger.Unknown, replay: true},
		{do: "settle applied", state: ledger.Applied},
		{do: "settle applied", state: ledger.Applied},
		{do: "settle failed", err: ledger.ErrFenced},
		{do: "a gives up", err: ledger.ErrFenced},
		{do: "b begins", state: ledger.Applied, replay: true},
	}},
	{"the lease ends in mid-work", ledger.OrphanReject, []step{
		{do: "a begins", state: ledger.Running},
		{do: "29.999s pass"},
		{do: "b begins", err: ledger.ErrInProgress},
		{do: "1ms pass"},
		{do: "b begins", err: ledger.ErrOutcomeUnknown},
		{do: "a begins", err: ledger.ErrOutcomeUnknown},
		{do: "b looks", state: ledger.Unknown},
		{do: "a applies", state: ledger.Applied},
		{do: "b begins", state: ledger.Applied, replay: true},
	}},
	{"a late finish, before it was written down that the lease ended", "", []step{
		{do: "a begins", state: ledger.Running},
		{do: "31s pass unseen"},
		{do: "b begins", err: ledger.ErrOutcomeUnknown},
		{do: "a applies", state: ledger.Applied},
	}},
	{"a late failure", "", []step{
		{do: "a begins", state: ledger.Running},
		{do: "31s pass"},
		{do: "restart"},
		{do: "a fails", state: ledger.Failed},
		{do: "b begins", state: ledger.Failed, replay: true},
	}},
	{"extended", "", []step{
		{do: "a begins", state: ledger.Running},
		{do: "20s pass"},
		{do: "a extends", state: ledger.Running, fence: 1},
		{do: "20s pass"},
		{do: "b begins", err: ledger.ErrInProgress},
		{do: "b extends", err: ledger.ErrFenced},
		{do: "11s pass"},
		{do: "b begins", err: ledger.ErrOutcomeUnknown},
		{do: "a extends", state: ledger.Running, fence: 1},
		{do: "b begins", err: ledger.ErrInProgress},
		{do: "a applies", state: ledger.Applied},
		{do: "a extends", err: ledger.ErrFenced},
	}},
	{"taken over", ledger.OrphanRetry, []step{
		{do: "a begins", state: ledger.Running, fence: 1},
		{do: "31s pass"},
		{do: "b looks", state: ledger.Unknown},
		{do: "b begins", state: ledger.Running, fence: 2},
		{do: "b begins", state: ledger.Running, fence: 2},
		{do: "a begins", err: ledger.ErrInProgress},
		{do: "a extends", err: ledger.ErrFenced},
		{do: "a applies", err: ledger.ErrFenced},
		{do: "a fails", err: ledger.ErrFenced},
		{do: "restart"},
		{do: "a applies", err: ledger.ErrFenced},
		{do: "b fails", state: ledger.Failed},
		{do: "a applies", err: ledger.ErrFenced},
		{do: "a begins", state: ledger.Failed, replay: true},
	}},
	{"taken over by the same holder", ledger.OrphanRetry, []step{
		{do: "a begins", state: ledger.Running, fence: 1},
		{do: "31s pass unseen"},
		{do: "a begins", state: ledger.Running, fence: 2},
		{do: "31s pass"},
		{do: "a begins", state: ledger.Running, fence: 3},
		{do: "a applies", state: ledger.Applied, fence: 3},
	}},
	{"late, and nobody took over", ledger.OrphanRetry, []step{
		{do: "a begins", state: ledger.Running, fence: 1},
		{do: "31s pass"},
		{do: "restart"},
		{do: "a applies", state: ledger.Applied, fence: 1},
		{do: "b begins", state: ledger.Applied, replay: true},
	}},
	{"settled before a late finish", ledger.OrphanRetry, []step{
		{do: "a begins", state: ledger.Running, fence: 1},
		{do: "31s pass unseen"},
		{do: "settle failed", state: ledger.Failed},
		{do: "a applies", err: ledger.ErrFenced},
		{do: "a fails", err: ledger.ErrFenced},
		{do: "b begins", state: ledger.Failed, replay: true},
	}},
	{"a lease runs on while the ledger is closed", "", []step{
		{do: "a begins", state: ledger.Running},
		{do: "stopped for 29s"},
		{do: "b begins", err: ledger.ErrInProgress},
		{do: "stopped for 1s"},
		{do: "b begins", err: ledger.ErrOutcomeUnknown},
	}},
	{"nothing began", "", []step{
		{do: "a looks", err: ledger.ErrNotFound},
		{do: "a extends", err: ledger.ErrNotFound},
		{do: "a applies", err: ledger.ErrNotFound},
		{do: "settle applied", err: ledger.ErrNotFound},
	}},
	{"after the horizon", "", []step{
		{do: "a begins", state: ledger.Running},
		{do: "a applies", state: ledger.Applied},
		{do: "191h59m59s pass"},
		{do: "a applies", state: ledger.Applied},
		{do: "b begins", state: ledger.Applied, replay: true},
		{do: "1s pass"},
		{do: "b begins", err: ledger.ErrExpired},
		{do: "b looks", err: ledger.ErrExpired},
		{do: "a applies", err: ledger.ErrExpired},
		{do: "a extends", err: ledger.ErrExpired},
		{do: "settle applied", err: ledger.ErrExpired},
		{do: "61s pass"},
		{do: "restart"},
		{do: "b begins", err: ledger.ErrExpired},
		{do: "b looks", err: ledger.ErrExpired},
		{do: "a applies", err: ledger.ErrExpired},
		{do: "a extends", err: ledger.ErrExpired},
		{do: "settle applied", err: ledger.ErrExpired},
	}},
}

// TestTales: fence and holder decide, for minted names and for foreign keys, with the
// store crashing at the end; and the log tells it all.
func TestTales(t *testing.T) {
	for _, tale := range tales {
		for kind, name := range map[string]string{"minted": mint("tales", 1, 1), "foreign": "order 7"} {
			t.Run(tale.name+", "+kind, func(t *testing.T) {
				teller := &teller{rig: newRig(t), name: name, orphan: tale.orphan, fences: map[string]uint64{}}
				for i, s := range tale.steps {
					teller.what = fmt.Sprintf("step %d, %s", i+1, s.do)
					teller.tell(s)
				}
				rebuilt(t, teller.store)
				teller.store = teller.store.Crash()
				teller.open()
				rebuilt(t, teller.store)
			})
		}
	}
}

type teller struct {
	*rig
	name   string
	orphan ledger.Orphan
	fences map[string]uint64 // of each holder
	what   string
}

func (s *teller) tell(step step) {
	var who, what string
	if n, _ := fmt.Sscanf(step.do, "stopped for %s", &what); n == 1 {
		s.clock.set(duration(s.t, what))
		s.restart()
		return
	}
	var rest string
	fmt.Sscanf(step.do, "%s %s %s", &who, &what, &rest)
	if what == "pass" {
		s.clock.pass(duration(s.t, who))
		if rest == "" {
			s.work()
		}
		return
	}
	if step.do == "restart" {
		s.restart()
		return
	}
	op, err := s.do(who, step.do)
	switch {
	case step.err != nil:
		want(s.t, s.what, err, step.err)
	case err != nil:
		s.t.Fatalf("%s: %v", s.what, err)
	case op.State != step.state || op.Replayed != step.replay || step.fence > 0 && op.Fence != step.fence:
		s.t.Errorf("%s: %+v", s.what, op)
	case op.State == ledger.Running:
		s.fences[who] = op.Fence
	}
}

func (s *teller) do(who, what string) (ledger.Operation, error) {
	ctx, l, r := s.t.Context(), s.As(1000), ref(s.name)
	hold := ledger.Hold{Holder: who, Fence: s.fences[who]}
	done := &ledger.Result{Status: 200, Body: []byte("done")}
	switch what[len(who)+1:] {
	case "begins":
		a := attempt(who)
		a.Orphan = s.orphan
		return l.Begin(ctx, r, a)
	case "extends":
		return l.Extend(ctx, r, hold, 30*time.Second)
	case "applies":
		return l.Finish(ctx, r, hold, ledger.Applied, done)
	case "applies with another result":
		return l.Finish(ctx, r, hold, ledger.Applied, &ledger.Result{Status: 201})
	case "fails":
		return l.Finish(ctx, r, hold, ledger.Failed, nil)
	case "gives up":
		return l.Finish(ctx, r, hold, ledger.Unknown, done)
	case "applied", "failed":
		return l.Settle(ctx, r, ledger.State(what[len(who)+1:]), nil)
	case "looks":
		op, err := l.Lookup(ctx, r)
		op.Replayed = false
		return op, err
	}
	s.t.Fatalf("%s: nobody can do that", s.what)
	return ledger.Operation{}, nil
}

func duration(t reporter, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return d
}
