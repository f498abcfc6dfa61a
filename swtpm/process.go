package swtpm

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-tpm/tpm2"
	"github.com/google/go-tpm/tpm2/transport"
)

// answerTime is how long an answer is waited for, on a machine that is busy with
// other things. One that cannot come, of a process that has ended, is not.
const answerTime = 30 * time.Second

// process is a running swtpm.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed once the process is gone and reaped
}

// start starts the program on t's state and waits for its first answer.
func (t *TPM) start() error {
	program, err := exec.LookPath("swtpm")
	if err != nil {
		return fmt.Errorf("swtpm: the software TPM is not installed (apt-get install swtpm): %w", err)
	}
	listener, err := t.listen()
	if err != nil {
		return err
	}
	defer listener.Close()
	log := filepath.Join(t.dir, "swtpm.log")
	// The socket is handed over open, so that it can be dialled from now on and
	// nobody has to guess when swtpm has made it. Child descriptors begin at 3.
	cmd := exec.Command(program, "socket", "--tpm2", "--tpmstate", "dir="+t.dir,
		"--server", "type=unixio,fd=3", "--flags", "not-need-init,startup-clear", "--log", "file="+log)
	cmd.ExtraFiles = []*os.File{listener}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if t.proc, err = spawn(cmd); err != nil {
		return fmt.Errorf("swtpm: start %s: %w", program, err)
	}
	// Closed before the first question: else a dead swtpm would leave the
	// question in the queue of a socket that we keep alive.
	listener.Close()
	_, err = ask(t.socket, t.patience, tpm2.GetCapability{
		Capability: tpm2.TPMCapTPMProperties, Property: uint32(tpm2.TPMPTManufacturer), PropertyCount: 1,
	})
	if err != nil {
		t.kill()
		return fmt.Errorf("swtpm: no answer from a fresh start on %s: %w%s", t.dir, err, tail(log))
	}
	return nil
}

// listen binds the socket anew.
func (t *TPM) listen() (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(t.socket), 0o700); err != nil {
		return nil, fmt.Errorf("swtpm: make a folder for the socket: %w", err)
	}
	if err := os.Remove(t.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("swtpm: remove the old socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: t.socket, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("swtpm: %w", err)
	}
	defer l.Close()
	l.SetUnlinkOnClose(false)
	f, err := l.File()
	if err != nil {
		return nil, fmt.Errorf("swtpm: hand over the socket: %w", err)
	}
	return f, nil
}

// spawn starts cmd from an operating system thread that lives as long as it
// does: PR_SET_PDEATHSIG fires when the parent's thread ends, not only when the
// parent does.
func spawn(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			// Its exit status says nothing: it ends because it is killed.
			_ = cmd.Wait()
		}
		close(p.ended)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// kill ends the process, if there is one, and waits until it is gone.
func (t *TPM) kill() {
	if t.proc == nil {
		return
	}
	// The only error is that the process has ended already.
	_ = t.proc.cmd.Process.Kill()
	<-t.proc.ended
	t.proc = nil
}

// shutdown tells the TPM that its power is going to end.
func (t *TPM) shutdown() error {
	_, err := ask(t.socket, t.patience, tpm2.Shutdown{ShutdownType: tpm2.TPMSUClear})
	if err != nil {
		return fmt.Errorf("swtpm: TPM2_Shutdown: %w", err)
	}
	return nil
}

// ask runs one command on a connection of its own.
func ask[R any, PR *R](socket string, limit time.Duration, cmd tpm2.Command[R, PR]) (PR, error) {
	conn, err := net.DialTimeout("unix", socket, limit)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return nil, err
	}
	return cmd.Execute(transport.FromReadWriteCloser(conn))
}

// tail returns the end of a log, to be appended to an error.
func tail(log string) string {
	data, err := os.ReadFile(log)
	text := strings.TrimSpace(string(data[max(0, len(data)-1000):]))
	if err != nil || text == "" {
		return ""
	}
	return "; its log ends with:\n" + text
}
