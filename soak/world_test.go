package soak_test

import (
	"bufio"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/opmint/opmint/swtpm"
)

// world is a TPM and a daemon, both of which end now and then. Somebody starts the
// daemon again, as systemd would.
type world struct {
	t    *testing.T
	tpm  *swtpm.TPM
	args []string // of opmintd

	mu      sync.Mutex
	changed sync.Cond
	daemon  *exec.Cmd     // the running one, or nil
	starts  int           // of daemons that could mint
	powered bool          // the TPM runs
	over    bool          // no more daemons
	ended   chan struct{} // closed after the last daemon
}

func newWorld(t *testing.T, args ...string) *world {
	t.Helper()
	w := &world{t: t, tpm: swtpm.StartTest(t), powered: true, ended: make(chan struct{})}
	w.args = append([]string{"--tpm", w.tpm.Addr(), "--assume", "physical"}, args...)
	w.changed.L = &w.mu
	go w.keepStarting()
	w.await(func() bool { return w.daemon != nil })
	return w
}

// await waits until something is so.
func (w *world) await(so func() bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !so() {
		w.changed.Wait()
	}
}

// change changes something.
func (w *world) change(what func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	what()
	w.changed.Broadcast()
}

// inTrouble is what a client does after an error: it waits until there is a daemon
// again, and a TPM.
func (w *world) inTrouble() {
	w.await(func() bool { return w.daemon != nil && w.powered })
}

// keepStarting starts daemons, one after the other.
func (w *world) keepStarting() {
	// The kernel kills a daemon when the thread that started it ends.
	runtime.LockOSThread()
	defer close(w.ended)
	for {
		w.await(func() bool { return w.powered || w.over })
		if w.over {
			return
		}
		if err := w.runDaemon(); err != nil {
			w.t.Error(err)
		}
	}
}

// runDaemon runs a daemon from its start to its end.
func (w *world) runDaemon() error {
	cmd := exec.Command("opmintd", w.args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if strings.Contains(lines.Text(), "msg=started") {
			w.change(func() {
				w.daemon = cmd
				w.starts++
				if w.over { // since it was launched
					_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
				}
			})
		}
	}
	err = cmd.Wait()
	w.change(func() { w.daemon = nil })
	if code := cmd.ProcessState.ExitCode(); code == 2 {
		return fmt.Errorf("%v: %w", cmd, err) // a panic, or wrong usage
	}
	return nil
}

// send sends the daemon a signal, if there is one.
func (w *world) send(signal syscall.Signal) {
	w.change(func() {
		if w.daemon != nil {
			_ = w.daemon.Process.Signal(signal) // it may have ended by itself
		}
	})
}

// descriptors returns how many files the daemon has open.
func (w *world) descriptors() (n int) {
	w.await(func() bool {
		if w.daemon != nil {
			n = descriptors(w.daemon.Process.Pid)
		}
		return n > 0
	})
	return n
}

// failTPM takes the TPM's power, in the middle of whatever it does, and gives it
// back; meanwhile the daemon gets a signal, unless that is 0.
func (w *world) failTPM(with syscall.Signal) error {
	w.change(func() { w.powered = false })
	w.tpm.Kill()
	if with != 0 {
		w.send(with)
	}
	err := w.tpm.Restart()
	w.change(func() { w.powered = true })
	return err
}

// end ends the daemon and the TPM for good.
func (w *world) end() {
	w.change(func() { w.over = true })
	w.send(syscall.SIGTERM)
	<-w.ended
	w.tpm.Kill()
}
