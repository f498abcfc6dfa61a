package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

// process is a daemon that is a process of its own.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	client api.Client

	launched chan struct{} // closed when it runs
	ended    chan struct{} // closed when it has ended and its log has been read

	mu     sync.Mutex
	log    strings.Builder
	logged sync.Cond
}

// newProcess returns a daemon that has not been launched.
func newProcess(t *testing.T, args ...string) *process { return newProgram(t, "opmintd", args...) }

// newProgram returns a program that becomes a daemon, and has not been launched.
func newProgram(t *testing.T, name string, args ...string) *process {
	p := &process{
		t: t, cmd: exec.Command(name, args...), launched: make(chan struct{}), ended: make(chan struct{}),
	}
	p.logged.L = &p.mu
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	// The race detector would sleep a second at each exit.
	p.cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	return p
}

// launch launches a daemon, which is killed at the end of the test at the latest.
func launch(t *testing.T, args ...string) *process {
	t.Helper()
	p := newProcess(t, args...)
	p.launch()
	return p
}

func (p *process) launch() {
	p.t.Helper()
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
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
		p.t.Fatal(err)
	}
	close(p.launched)
	p.t.Cleanup(p.kill)
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
	<-p.launched
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

// refuses waits for the end of a start, which has to be the end of the process too,
// with a code and a sentence.
func (p *process) refuses(code int, says string) {
	p.t.Helper()
	if p.logs("msg=started") {
		p.t.Errorf("%v\nstarted, want an end with %d and %q", p.cmd.Args, code, says)
		p.kill()
		return
	}
	p.endsWith(code, says)
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

// wantRollbacks fails the test unless just these rollbacks are on record.
func (p *process) wantRollbacks(want ...string) {
	p.t.Helper()
	var whats []string
	for _, r := range p.identity().Rollbacks {
		whats = append(whats, r.What)
	}
	if !slices.Equal(whats, want) {
		p.t.Errorf("the rollbacks are %v, want %v", whats, want)
	}
}

// knows fails the test unless the daemon knows an epoch of an identity as its own.
func (p *process) knows(name keygen.Name) {
	p.t.Helper()
	info, err := p.client.Name(context.Background(), name)
	if err != nil || !info.Here || info.Claimed.IsZero() {
		p.t.Errorf("%s is known as %+v, %v", name, info, err)
	}
}
