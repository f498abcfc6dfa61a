package vmtest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"runtime"
	"syscall"
)

// A process is a running program that cannot outlive this one: the kernel kills it when this process ends, even by
// a panic or a kill.
type process struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	exited chan struct{} // closed when the program has ended; how stands in cmd.ProcessState
}

// start runs cmd until it ends by itself or is killed.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, exited: make(chan struct{})}
	cmd.Stderr = &p.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// The death signal is sent when the thread that started the program ends, so that thread has to stay.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, withRemedy(err))
	}
	return p, nil
}

// withRemedy says where a program that is missing comes from.
func withRemedy(err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: run vmtest/setup.sh, which installs it", err)
	}
	return err
}

// kill ends the program at once and returns when it is gone. One that was never started (nil) is gone.
func (p *process) kill() {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Kill() // fails only where it has ended already
	<-p.exited
}

// String tells how the program has ended, which it must have unless it was never started (nil), and what it
// complained of.
func (p *process) String() string {
	if p == nil {
		return "not started"
	}
	return fmt.Sprintf("%v %s", p.cmd.ProcessState, &p.stderr)
}
