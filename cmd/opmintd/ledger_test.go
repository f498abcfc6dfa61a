package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/ledger"
)

// ledgerFiles are those of the state folder that belong to the ledger.
var ledgerFiles = []string{"ledger", "ledger.created", "ledger.log"}

// newReceiverWorld is a machine without a TPM.
func newReceiverWorld(t *testing.T) *world {
	return &world{rig: (&rig{t: t, addr: noTPM}).another(), class: keygen.ClassJ, now: keygen.ClassJ}
}

// begin begins an operation, which has to be the caller's to run.
func (p *process) begin(name string) ledger.Operation {
	p.t.Helper()
	op, err := p.client.Begin(p.t.Context(), ledger.Ref{Scope: "s", Name: name}, ledger.Attempt{Holder: "h"})
	must(p.t, err)
	if op.State != ledger.Running {
		p.t.Fatalf("%s: %+v", name, op)
	}
	return op
}

// apply begins an operation and ends it.
func (p *process) apply(name string) {
	p.t.Helper()
	op := p.begin(name)
	_, err := p.client.Finish(p.t.Context(), op.Ref, op.Hold(), ledger.Applied, nil)
	must(p.t, err)
}

// lookup says what the ledger knows of a name.
func (p *process) lookup(name string) (ledger.State, error) {
	op, err := p.client.Lookup(p.t.Context(), ledger.Ref{Scope: "s", Name: name})
	return op.State, err
}

// TestOperationSurvives a stop between its beginning and its end, and a kill.
func TestOperationSurvives(t *testing.T) {
	w := newReceiverWorld(t)
	for _, end := range []func(*process){(*process).stop, (*process).kill} {
		p := w.up()
		name := p.mint(1)[0].String()
		op := p.begin(name)
		end(p)
		p = w.up()
		again, err := p.client.Begin(t.Context(), op.Ref, ledger.Attempt{Holder: "h"})
		if err != nil || again.State != ledger.Running || again.Fence != op.Fence {
			t.Errorf("%+v, %v, was %+v", again, err, op)
		}
		if _, err := p.client.Begin(t.Context(), op.Ref, ledger.Attempt{Holder: "i"}); !errors.Is(err, ledger.ErrInProgress) {
			t.Error(err)
		}
		for range 2 {
			if _, err := p.client.Finish(t.Context(), op.Ref, op.Hold(), ledger.Failed, &ledger.Result{Status: 402}); err != nil {
				t.Error(err)
			}
			end(p)
			p = w.up()
		}
		got, err := p.client.Begin(t.Context(), op.Ref, ledger.Attempt{Holder: "j"})
		if err != nil || got.State != ledger.Failed || !got.Replayed || got.Result.Status != 402 {
			t.Errorf("%+v, %v", got, err)
		}
		p.stop()
	}
}

// The receiver's ledger lost: it starts empty, and says since when it remembers.
func TestPromiseLedgerLost(t *testing.T) {
	for what, files := range map[string][]string{"all of it": ledgerFiles, "its file": ledgerFiles[:1]} {
		t.Run(what, func(t *testing.T) {
			w := newReceiverWorld(t)
			p := w.up()
			p.apply("known")
			p.stop()
			lost := time.Now().Truncate(time.Millisecond)
			for _, name := range files {
				must(t, os.Remove(filepath.Join(w.state, name)))
			}
			p = w.up()
			if state, err := p.lookup("known"); !errors.Is(err, ledger.ErrNotFound) {
				t.Errorf("%s, %v", state, err)
			}
			if scope := p.scope(); scope.MemorySince.Before(lost) || scope.Suspect {
				t.Errorf("%+v, lost at %v", scope, lost)
			}
			p.wantRollbacks("ledger")
			p.apply("known")
			p.stop()
			p = w.up()
			p.wantRollbacks("ledger")
			p.stop()
		})
	}
}

// scope returns all that is told of the tests' scope.
func (p *process) scope() *api.Scope {
	p.t.Helper()
	var text strings.Builder
	must(p.t, p.client.Relay(p.t.Context(), &text, "GET", "/v1/scopes/s"))
	scope := new(api.Scope)
	must(p.t, json.Unmarshal([]byte(text.String()), scope))
	return scope
}

// The receiver's ledger restored from a backup, noticed: it is suspect. Names that it
// has not seen, of epochs that it could have seen, answer outcome-unknown until an
// operator accepts.
func TestPromiseLedgerRestoredNoticed(t *testing.T) {
	w := newReceiverWorld(t)
	p := w.up()
	p.apply("known")
	p.stop()
	backup := w.another()
	for _, name := range ledgerFiles {
		backup.copyFile(w.rig, name)
	}
	p = w.up()
	forgotten := p.mint(1)[0].String()
	p.apply(forgotten)
	p.apply("forgotten")
	p.stop()
	for _, name := range ledgerFiles {
		w.copyFile(backup, name)
	}
	p = w.up()
	p.wantRollbacks("ledger")
	w.wantSuspect(p, "forgotten", forgotten)
}

// The receiver's ledger restored from a backup, declared: the same.
func TestPromiseLedgerRestoredDeclared(t *testing.T) {
	w := newReceiverWorld(t)
	p := w.up()
	p.apply("known")
	never := p.mint(1)[0].String()
	p.stop()
	p = w.up("--ledger-restored")
	p.wantRollbacks()
	w.wantSuspect(p, "forgotten", never)
}

// The whole state folder restored, where that is noticed by the TPM's counter: the
// ledger in it is as old as the journal.
func TestPromiseFolderRestoredWithLedger(t *testing.T) {
	w := &world{rig: newRig(t), class: keygen.ClassH}
	p := w.up()
	p.apply("known")
	p.stop()
	then := w.remember()
	p = w.up()
	p.apply("forgotten")
	p.stop()
	w.rollBackFolder(then)
	p = w.up()
	p.wantRollbacks("journal")
	w.wantSuspect(p, "forgotten")
}

// wantSuspect checks that the ledger has the name known, and doubts the others until
// somebody accepts it, also after a restart; but not names minted just now. It stops
// the daemon.
func (w *world) wantSuspect(p *process, doubted ...string) {
	t := w.t
	t.Helper()
	p.apply(p.mint(1)[0].String())
	p.stop()
	p = w.up()
	if state, err := p.lookup("known"); err != nil || state != ledger.Applied {
		t.Errorf("%s, %v", state, err)
	}
	for _, name := range doubted {
		_, err := p.client.Begin(t.Context(), ledger.Ref{Scope: "s", Name: name}, ledger.Attempt{Holder: "h"})
		if !errors.Is(err, ledger.ErrOutcomeUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !p.scope().Suspect {
		t.Error("it is not suspect")
	}
	must(t, p.client.AcceptLedger(t.Context()))
	for _, name := range doubted {
		p.apply(name)
	}
	p.stop()
}

// TestLedgerDamaged: it is said to receivers, and names are minted all the same.
func TestLedgerDamaged(t *testing.T) {
	w := newReceiverWorld(t)
	p := w.up()
	p.apply("known")
	p.stop()
	writeFile(t, filepath.Join(w.state, "ledger"), []byte("garbage"))
	p = w.up()
	p.mint(1)
	_, err := p.lookup("known")
	if !errors.Is(err, ledger.ErrUnavailable) || !strings.Contains(err.Error(), "store is damaged") {
		t.Error(err)
	}
	p.stop()
}

// TestRebuildLedger: out of its log it is the same, in a new file and of no daemon's.
func TestRebuildLedger(t *testing.T) {
	w := newReceiverWorld(t)
	made := filepath.Join(t.TempDir(), "made")
	w.launch("--rebuild-ledger", made).refuses(exitError, "no such file")
	p := w.up()
	p.apply("a")
	p.begin("b")
	w.launch("--rebuild-ledger", made).refuses(exitTryAgain, "stop the daemon first")
	p.stop()
	w.launch("--rebuild-ledger", made).endsWith(exitDone, "")
	w.launch("--rebuild-ledger", made).refuses(exitUsage, "there is something already")
	for _, name := range []string{"", ".created", ".log"} {
		must(t, os.Rename(made+name, filepath.Join(w.state, "ledger"+name)))
	}
	p = w.up()
	if state, err := p.lookup("a"); err != nil || state != ledger.Applied {
		t.Errorf("%s, %v", state, err)
	}
	p.stop()
}
