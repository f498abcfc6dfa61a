package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/opmint/opmint/swtpm"
	"github.com/opmint/opmint/tpm"
)

// A rig is a place for a daemon, with a TPM.
type rig struct {
	t      *testing.T
	tpm    *swtpm.TPM
	addr   string // where daemons find the TPM
	state  string
	socket string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	soft := swtpm.StartTest(t)
	return (&rig{t: t, tpm: soft, addr: soft.Addr()}).another()
}

// another is another place, with the same TPM.
func (r *rig) another() *rig {
	dir := r.t.TempDir()
	return &rig{t: r.t, tpm: r.tpm, addr: r.addr, state: filepath.Join(dir, "state"), socket: filepath.Join(dir, "sock")}
}

// args are the arguments of a daemon in this place.
func (r *rig) args(more ...string) []string {
	return append([]string{"--assume", "physical", "--tpm", r.addr, "--state", r.state, "--socket", r.socket}, more...)
}

// start starts a daemon and waits until it mints.
func (r *rig) start(more ...string) *process {
	r.t.Helper()
	p := launch(r.t, r.args(more...)...)
	p.client.Socket = r.socket
	if !p.logs("started") {
		r.t.Fatalf("the daemon did not start:\n%s", p.output())
	}
	return p
}

// refused runs a daemon that has to end with a code and a sentence.
func (r *rig) refused(code int, says string, more ...string) {
	r.t.Helper()
	launch(r.t, r.args(more...)...).refuses(code, says)
}

// counter is the TPM's counter, seen from outside.
func (r *rig) counter() *tpm.Counter {
	r.t.Helper()
	dev, err := tpm.Open(r.tpm.Addr())
	if err != nil {
		r.t.Fatal(err)
	}
	c, err := tpm.NewCounter(tpm.CounterConfig{Device: dev, StateDir: r.state})
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// value is what the counter shows to somebody who is not the daemon.
func (r *rig) value() uint64 {
	r.t.Helper()
	v, err := r.counter().Read(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

// writeFile writes a file that a test needs.
func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
