package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-tpm/tpm2"

	"github.com/opmint/opmint/api"
)

// TestStop ends a daemon with either signal, while a claim is under way: it is
// answered, and nobody else is.
func TestStop(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		r := newRig(t)
		b := newBus(r)
		p := r.start()
		goOn, renewed := b.renewing(p)
		must(t, p.cmd.Process.Signal(signal))
		for {
			// Until the daemon has seen the signal.
			other := api.Client{Socket: r.socket}
			if _, err := other.Health(t.Context()); err != nil {
				break
			}
		}
		goOn()
		if err := <-renewed; err != nil {
			t.Errorf("%v: under way: %v", signal, err)
		}
		p.endsWith(exitDone, "msg=stopped")
		if _, err := os.Lstat(r.socket); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: the socket is still there: %v", signal, err)
		}
		b.meddle(nil)
		p = r.start()
		p.mint(1)
	}
}

// TestStopWhileStarting ends a daemon before it mints.
func TestStopWhileStarting(t *testing.T) {
	r := newRig(t)
	r.start().stop()
	used := r.value()
	b := newBus(r)
	asked, goOn := make(chan struct{}), make(chan struct{})
	b.meddle(func(cc tpm2.TPMCC, next func() []byte) []byte {
		if cc == tpm2.TPMCCCreatePrimary {
			close(asked)
			<-goOn
		}
		return next()
	})
	p := launch(t, r.args()...)
	<-asked
	must(t, p.cmd.Process.Signal(syscall.SIGTERM))
	p.endsWith(exitDone, "msg=stopped")
	close(goOn)
	if v := r.value(); v != used {
		t.Errorf("it cost %d writes", v-used)
	}
}

// TestLog reads the log as JSON, a line for each thing that happened.
func TestLog(t *testing.T) {
	r := newRig(t)
	p := r.start("--log-format", "json")
	if _, err := p.client.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.stop()
	var messages []string
	for line := range strings.Lines(strings.TrimSuffix(p.output(), endOfLog)) {
		var entry struct{ Level, Msg, Identity, Class, TPM string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		messages = append(messages, entry.Msg)
		if entry.Msg == "started" && (entry.Class != "h" || len(entry.Identity) != 18 || entry.TPM != r.addr) {
			t.Errorf("the start is logged as %s", line)
		}
	}
	want := []string{
		"judged the machine", "the class is the operator's word; where it is wrong, names can repeat",
		"the journal knew no TPM before; the identity is a new one",
		"claimed an epoch", "started", "claimed an epoch",
		"stopping: what is under way is finished; another signal ends it at once", "stopped",
	}
	if !slices.Equal(messages, want) {
		t.Errorf("the log has %q", messages)
	}
}
