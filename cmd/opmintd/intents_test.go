package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/store/storetest"
)

// told is what clients know of intents, by the answers that they got.
type told struct {
	t *testing.T

	mu      sync.Mutex
	intents map[string]keygen.Name    // zero: asked for, and not answered
	numbers map[string]api.StreamName // likewise, in a stream
	answers int
	enough  int           // answers after which the daemon is killed
	killed  chan struct{} // closed then
}

// name asks for an intent, and wants the name that others were told.
func (k *told) name(c *api.Client, intent string) bool {
	k.ask(func() {
		if _, ok := k.intents[intent]; !ok {
			k.intents[intent] = keygen.Name{}
		}
	})
	got, err := c.NameIntent(k.t.Context(), intent, api.IntentRequest{})
	return k.answered(err, func() {
		if before := k.intents[intent]; !before.IsZero() && before != got.Name {
			k.t.Errorf("intent %s is named %s, was %s", intent, got.Name, before)
		}
		k.intents[intent] = got.Name
	})
}

// number is name for an intent in a stream.
func (k *told) number(c *api.Client, intent string) bool {
	k.ask(func() {
		if _, ok := k.numbers[intent]; !ok {
			k.numbers[intent] = api.StreamName{}
		}
	})
	got, err := c.NameInStream(k.t.Context(), "s", intent)
	return k.answered(err, func() {
		if before := k.numbers[intent]; !before.Name.IsZero() && (before.Name != got.Name || before.Seq != got.Seq) {
			k.t.Errorf("intent %s is %+v, was %+v", intent, got, before)
		}
		k.numbers[intent] = *got
	})
}

func (k *told) ask(note func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	note()
}

// answered notes an answer, and reports whether there was one.
func (k *told) answered(err error, note func()) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, refused := errors.AsType[*api.Problem](err); refused {
		k.t.Error(err)
	}
	if err != nil {
		return false
	}
	note()
	if k.answers++; k.answers == k.enough {
		close(k.killed)
	}
	return true
}

// untilKilled has clients name intents, some of them each other's and those of
// earlier starts, until the daemon is killed at a random moment.
func (k *told) untilKilled(p *process, round int) {
	k.answers, k.enough, k.killed = 0, 1+rand.IntN(40), make(chan struct{})
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for i := 0; ; i++ {
				of := round
				if i%4 == 3 {
					of = rand.IntN(round + 1)
				}
				intent := fmt.Sprintf("%d-%d", of, i/2)
				if !k.name(&p.client, intent) || !k.number(&p.client, intent) {
					return
				}
			}
		})
	}
	<-k.killed
	p.kill()
	clients.Wait()
}

// TestKilledWhileNaming kills the daemon at random moments, 200 times: the same
// intent has the same name afterwards, no two have one, and no number of a stream
// is missing or given twice.
func TestKilledWhileNaming(t *testing.T) {
	t.Parallel()
	w := &world{rig: (&rig{t: t}).another(), class: keygen.ClassJ}
	w.addr = noTPM
	k := &told{t: t, intents: map[string]keygen.Name{}, numbers: map[string]api.StreamName{}}
	for round := range 200 {
		k.untilKilled(w.up(), round)
	}
	p := w.up()
	names, seqs := map[keygen.Name]string{}, map[uint64]string{}
	for intent := range k.intents {
		if !k.name(&p.client, intent) {
			t.Fatal("no answer")
		}
		if other, ok := names[k.intents[intent]]; ok {
			t.Errorf("%s and %s have one name", intent, other)
		}
		names[k.intents[intent]] = intent
	}
	for intent := range k.numbers {
		if !k.number(&p.client, intent) {
			t.Fatal("no answer")
		}
		n := k.numbers[intent]
		if _, ok := names[n.Name]; ok {
			t.Errorf("%s has the name of another", intent)
		}
		names[n.Name] = intent
		if other, ok := seqs[n.Seq]; ok {
			t.Errorf("%s and %s have one number", intent, other)
		}
		seqs[n.Seq] = intent
	}
	for seq := range uint64(len(k.numbers)) {
		if _, ok := seqs[seq]; !ok {
			t.Errorf("number %d is missing", seq)
		}
	}
	p.stop()
}

// intent asks a daemon for the name of an intent.
func (p *process) intent(intent string) *api.Intent {
	p.t.Helper()
	got, err := p.client.NameIntent(p.t.Context(), intent, api.IntentRequest{})
	must(p.t, err)
	return got
}

// number asks a daemon for the number of an intent in a stream.
func (p *process) number(intent string) *api.StreamName {
	p.t.Helper()
	got, err := p.client.NameInStream(p.t.Context(), "s", intent)
	must(p.t, err)
	return got
}

// The minter's journal rolled back: intents named after that point are forgotten,
// streams have a new edition, and where it was noticed, memory_since says so.
func TestPromiseJournalRolledBack(t *testing.T) {
	eachClass(t, func(t *testing.T, w *world) {
		p := w.up()
		kept, keptNumber := p.intent("kept"), p.number("kept")
		p.stop()
		then := w.remember()
		p = w.up()
		again, lost, lostNumber := p.number("kept"), p.intent("lost"), p.number("lost")
		if redrawn := again.Edition != keptNumber.Edition; redrawn != (w.class != keygen.ClassH) {
			t.Errorf("after a restart: %+v, was %+v", again, keptNumber)
		}
		p.stop()
		w.rollBackFolder(then)
		p = w.up()
		if got := p.intent("kept"); got.Name != kept.Name || !got.Replayed ||
			got.MemorySince.After(kept.MemorySince) != (w.class != keygen.ClassJ) {
			t.Errorf("%+v, was %+v", got, kept)
		}
		if got := p.intent("lost"); got.Name == lost.Name || got.Replayed {
			t.Errorf("%+v, was %+v", got, lost)
		}
		got := p.number("lost")
		if got.Name == lostNumber.Name || got.Replayed || got.Seq != lostNumber.Seq ||
			got.Edition == lostNumber.Edition || got.Edition == keptNumber.Edition {
			t.Errorf("%+v, was %+v", got, lostNumber)
		}
		if got := p.number("kept"); got.Name != keptNumber.Name || got.Seq != keptNumber.Seq {
			t.Errorf("%+v, was %+v", got, keptNumber)
		}
		p.stop()
	})
}

// TestBoundsOfIntents: the flags say how long they are remembered at most, and how
// many there can be.
func TestBoundsOfIntents(t *testing.T) {
	w := &world{rig: (&rig{t: t}).another(), class: keygen.ClassJ}
	w.addr = noTPM
	p := w.up("--horizon", "1h", "--max-intents", "2", "--max-streams", "1")
	if got := p.intent("a"); got.Expires.Sub(got.Created) != time.Hour {
		t.Errorf("%+v", got)
	}
	_, err := p.client.NameIntent(t.Context(), "b", api.IntentRequest{Retain: new(api.Duration(time.Hour + 1))})
	if !errors.Is(err, api.ErrBadRequest) {
		t.Error(err)
	}
	p.number("b")
	_, err = p.client.NameIntent(t.Context(), "c", api.IntentRequest{})
	if problem, ok := errors.AsType[*api.Problem](err); !ok || problem.Status != 429 || problem.RetryAfter != time.Minute {
		t.Error(err)
	}
	_, err = p.client.NewEdition(t.Context(), "t", keygen.Edition{})
	if !errors.Is(err, api.ErrOverloaded) {
		t.Error(err)
	}
	p.stop()
}

// TestJournalFailsWhileNaming: a write of which nobody knows what it did ends the
// daemon, and one that is refused does not.
func TestJournalFailsWhileNaming(t *testing.T) {
	m := newTestMint(t, keygen.ClassJ)
	var failed error
	m.fail = func(err error) { failed = err }
	d := daemon{options: &options{horizon: defaultHorizon, maxIntents: 1, maxStreams: 1}, state: &state{journal: m.journal}}
	in, err := d.openIntents(t.Context(), m.mint)
	must(t, err)
	for _, fault := range []storetest.Fault{storetest.Refuse, storetest.KeepButReportLost} {
		m.disk.Fail(1, fault)
		_, err := in.Number(t.Context(), 1, "s", "i")
		if !errors.Is(err, storetest.ErrFault) {
			t.Fatalf("%s: %v", fault, err)
		}
		if unknown := fault != storetest.Refuse; errors.Is(err, store.ErrOutcomeUnknown) != unknown || (failed != nil) != unknown {
			t.Errorf("%s: %v, and the daemon ends with %v", fault, err, failed)
		}
	}
}
