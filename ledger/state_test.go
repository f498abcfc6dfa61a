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
