package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
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
	launch(r.t, r.args(more...)...).endsWith(code, says)
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

// process is a daemon that is a process of its own.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	client api.Client
	ended  chan struct{} // closed when it has ended and its log has been read

	mu     sync.Mutex
	log    strings.Builder
	logged sync.Cond
}

// launch starts a daemon, which is killed at the end of the test at the latest.
func launch(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command("opmintd", args...), ended: make(chan struct{})}
	p.logged.L = &p.mu
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan error)
	go func() {
		defer close(p.ended)
		// The kernel kills the process when this thread ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.follow(stderr)
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// endOfLog follows the log of a daemon that has ended.
const endOfLog = "END\n"

// follow reads the log until the process ends.
func (p *process) follow(stderr io.Reader) {
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		p.mu.Lock()
		p.log.WriteString(lines.Text() + "\n")
		p.mu.Unlock()
		p.logged.Broadcast()
	}
	_ = p.cmd.Wait() // its result is in cmd.ProcessState
	p.mu.Lock()
	p.log.WriteString(endOfLog)
	p.mu.Unlock()
	p.logged.Broadcast()
}

// output is the log up to now.
func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// logs waits until the log has some text, and reports whether it came.
func (p *process) logs(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !strings.Contains(p.log.String(), text) {
		if strings.HasSuffix(p.log.String(), endOfLog) {
			return false
		}
		p.logged.Wait()
	}
	return true
}

// kill ends the process with SIGKILL.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// stop ends the process with SIGTERM, which has to be an end in order.
func (p *process) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	p.endsWith(exitDone, "stopped")
}

// endsWith waits for the end, which has to have a code and a sentence.
func (p *process) endsWith(code int, says string) {
	p.t.Helper()
	<-p.ended
	if got := p.cmd.ProcessState.ExitCode(); got != code || !strings.Contains(p.output(), says) {
		p.t.Errorf("%v\nended with %d, want %d and %q:\n%s", p.cmd.Args, got, code, says, p.output())
	}
}

// mint mints names.
func (p *process) mint(count int) []keygen.Name {
	p.t.Helper()
	names, err := p.tryMint(count)
	if err != nil {
		p.t.Fatal(err)
	}
	return names
}

func (p *process) tryMint(count int) ([]keygen.Name, error) {
	answer, err := p.client.Mint(context.Background(), api.MintRequest{Count: count})
	if err != nil {
		return nil, err
	}
	return parse(answer.Names)
}

// identity asks for the identity.
func (p *process) identity() *api.Identity {
	p.t.Helper()
	id, err := p.client.Identity(context.Background())
	if err != nil {
		p.t.Fatal(err)
	}
	return id
}

// knows fails the test unless the daemon knows an epoch of an identity as its own.
func (p *process) knows(name keygen.Name) {
	p.t.Helper()
	info, err := p.client.Name(context.Background(), name)
	if err != nil || !info.Here || info.Claimed.IsZero() {
		p.t.Errorf("%s is known as %+v, %v", name, info, err)
	}
}

func parse(texts []string) ([]keygen.Name, error) {
	names := make([]keygen.Name, len(texts))
	for i, text := range texts {
		var err error
		if names[i], err = keygen.Parse(text); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// record is all names that a test has got.
type record struct {
	t    *testing.T
	mu   sync.Mutex
	seen map[number]bool
}

// number is what no two names have in common, even if their tags differ.
type number struct {
	identity   keygen.Identity
	epoch, seq uint64
}

func newRecord(t *testing.T) *record { return &record{t: t, seen: map[number]bool{}} }

// add fails the test if a name was there before.
func (r *record) add(names ...keygen.Name) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range names {
		k := number{n.Identity(), n.Epoch(), n.Seq()}
		if r.seen[k] {
			r.t.Errorf("%s was minted twice", n)
		}
		r.seen[k] = true
	}
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
