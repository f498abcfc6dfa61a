package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/opmint/opmint/ledger"
)

// linearCall is a call as porcupine sees it.
type linearCall struct {
	name, do string
	hold     ledger.Hold
	print    string
	outcome  ledger.State
}

// linearAnswer is what came of it.
type linearAnswer struct {
	state   ledger.State
	fence   uint64
	verdict ledger.Verdict
	refusal error
}

// linearState is where a name stands.
type linearState struct {
	state   ledger.State // "": it never began
	hold    ledger.Hold
	print   string
	settled bool
}

// linear is what a ledger is whose calls come one after the other, and in which no
// time passes.
var linear = porcupine.Model{
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		names := map[string]int{}
		for _, op := range history {
			name := op.Input.(linearCall).name
			if _, known := names[name]; !known {
				names[name], parts = len(parts), append(parts, nil)
			}
			parts[names[name]] = append(parts[names[name]], op)
		}
		return parts
	},
	Init: func() any { return linearState{} },
	Step: func(state, input, output any) (bool, any) {
		wanted, next := state.(linearState).step(input.(linearCall))
		return wanted == output.(linearAnswer), next
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
}

// step returns the answer to a call, and where the name stands then.
func (s linearState) step(c linearCall) (linearAnswer, linearState) {
	refused := func(err error) (linearAnswer, linearState) { return linearAnswer{refusal: err}, s }
	known := func() (linearAnswer, linearState) { return linearAnswer{state: s.state, fence: s.hold.Fence}, s }
	switch c.do {
	case "begin":
		switch {
		case s.state == "":
			s = linearState{state: ledger.Running, hold: ledger.Hold{Holder: c.hold.Holder, Fence: 1}, print: c.print}
		case s.print != c.print:
			return refused(ledger.ErrMismatch)
		case s.state == ledger.Running && s.hold.Holder != c.hold.Holder:
			return refused(ledger.ErrInProgress)
		}
	case "finish":
		switch {
		case s.state == "":
			return refused(ledger.ErrNotFound)
		case s.hold != c.hold, s.state != ledger.Running && (s.state != c.outcome || s.settled):
			return refused(ledger.ErrFenced)
		}
		s.state = c.outcome
	case "settle":
		switch {
		case s.state == "":
			return refused(ledger.ErrNotFound)
		case s.state == ledger.Running:
			return refused(ledger.ErrInProgress)
		case s.state == ledger.Unknown:
			s.state, s.settled = c.outcome, true
		case s.state != c.outcome:
			return refused(ledger.ErrFenced)
		}
	case "look":
		if s.state == "" {
			return refused(ledger.ErrNotFound)
		}
	case "absorb":
		return s.absorb(c)
	}
	return known()
}

func (s linearState) absorb(c linearCall) (linearAnswer, linearState) {
	verdict := map[ledger.State]ledger.Verdict{
		ledger.Running: ledger.VerdictRunning, ledger.Applied: ledger.VerdictSeen,
		ledger.Failed: ledger.VerdictFailed, ledger.Unknown: ledger.VerdictUnknown,
	}[s.state]
	switch {
	case s.state == "":
		return linearAnswer{verdict: ledger.VerdictFresh}, linearState{state: ledger.Applied, print: c.print}
	case s.print != c.print:
		verdict = ledger.VerdictMismatch
	}
	return linearAnswer{verdict: verdict}, s
}

// callLinear makes the call.
func callLinear(ctx context.Context, l ledger.Ledger, c linearCall) linearAnswer {
	var op ledger.Operation
	var err error
	switch r := ref(c.name); c.do {
	case "begin":
		op, err = l.Begin(ctx, r, ledger.Attempt{Holder: c.hold.Holder, Fingerprint: print(c.print), Lease: time.Hour})
	case "finish":
		op, err = l.Finish(ctx, r, c.hold, c.outcome, nil)
	case "settle":
		op, err = l.Settle(ctx, r, c.outcome, nil)
	case "look":
		op, err = l.Lookup(ctx, r)
	case "absorb":
		verdicts, err := l.Absorb(ctx, r.Scope, []ledger.Item{{Name: c.name, Fingerprint: print(c.print)}})
		if err != nil {
			return linearAnswer{refusal: err}
		}
		return linearAnswer{verdict: verdicts[0]}
	}
	if refusal, ok := errors.AsType[*ledger.Refusal](err); ok {
		err = refusal.Reason
	}
	return linearAnswer{state: op.State, fence: op.Fence, refusal: err}
}

func drawCall(r *rand.Rand, client int) linearCall {
	c := linearCall{
		name: fmt.Sprint("name ", r.IntN(30)), print: []string{"X", "X", "X", "Y"}[r.IntN(4)],
		do:   []string{"begin", "begin", "finish", "finish", "settle", "look", "absorb"}[r.IntN(7)],
		hold: ledger.Hold{Holder: fmt.Sprint("holder ", client/2), Fence: 1},
	}
	c.outcome = []ledger.State{ledger.Applied, ledger.Failed, ledger.Unknown}[r.IntN(3)]
	if c.do == "settle" && c.outcome == ledger.Unknown {
		c.outcome = ledger.Applied
	}
	return c
}

// TestLinearizable lets clients call at once, and finds an order of their calls in
// which the answers are right, each call between its begin and its end.
func TestLinearizable(t *testing.T) {
	k, _ := openBolt(t, ledger.Config{})
	const clients, calls = 8, 80
	var moment atomic.Int64 // orders begins and ends of calls
	histories := make([][]porcupine.Operation, clients)
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(client), 7))
			for range calls {
				c := drawCall(r, client)
				at := moment.Add(1)
				answer := callLinear(t.Context(), k.As(1), c)
				histories[client] = append(histories[client], porcupine.Operation{
					ClientId: client, Input: c, Call: at, Output: answer, Return: moment.Add(1),
				})
			}
		})
	}
	all.Wait()
	var history []porcupine.Operation
	for _, h := range histories {
		history = append(history, h...)
	}
	if !porcupine.CheckOperations(linear, history) {
		t.Errorf("no order of the calls explains the answers: %+v", history)
	}
}
