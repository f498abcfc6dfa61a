package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/opmint/opmint/swtpm"
)

// A server is asked each askTime whether it listens, for startTime at most.
const (
	startTime = 30 * time.Second
	askTime   = 10 * time.Millisecond
)

// servers are processes of their own, so that they share no runtime with the
// clients.
type servers struct {
	echo, uuidd, opmintd string // their sockets

	tpm     *swtpm.TPM
	running []*process
}

// startServers starts them all in the folder dir, where the programs are. On an
// error, too, those that it returns are to be stopped.
func startServers(ctx context.Context, dir string) (s *servers, err error) {
	s = &servers{
		echo: filepath.Join(dir, "echo"), uuidd: filepath.Join(dir, "uuidd"), opmintd: filepath.Join(dir, "sock"),
	}
	self, err := os.Executable()
	if err != nil {
		return s, err
	}
	if s.tpm, err = swtpm.Start(filepath.Join(dir, "tpm")); err != nil {
		return s, err
	}
	if err := s.start(ctx, s.echo, self, echoCommand, s.echo); err != nil {
		return s, err
	}
	if err := s.start(ctx, s.uuidd, "unshare", uuiddArgs(s.uuidd)...); err != nil {
		return s, fmt.Errorf("%w (uuidd is in the package uuid-runtime, and needs leave to make a mount namespace)", err)
	}
	return s, s.start(ctx, s.opmintd, filepath.Join(dir, "opmintd"), "--assume", "physical",
		"--socket", s.opmintd, "--state", filepath.Join(dir, "state"), "--tpm", s.tpm.Addr())
}

// stop ends them all.
func (s *servers) stop() {
	for _, p := range s.running {
		p.kill()
	}
	if s.tpm != nil {
		s.tpm.Kill()
		_ = s.tpm.Stop() // of a TPM that is gone, removes its socket
	}
}

// uuiddArgs are the arguments of unshare for an uuidd that writes its clock file
// on a file system of its own, and not into the machine's.
func uuiddArgs(socket string) []string {
	args := []string{"--mount", "sh", "-c", "mount -t tmpfs none /var/lib/libuuid && " +
		"exec uuidd --no-fork --no-pid --quiet --timeout 60 --socket " + socket}
	if os.Geteuid() != 0 {
		args = append([]string{"--map-root-user"}, args...)
	}
	return args
}

// start starts a program and returns once it listens on socket.
func (s *servers) start(ctx context.Context, socket, program string, args ...string) error {
	p, err := spawn(program, args...)
	if err != nil {
		return err
	}
	s.running = append(s.running, p)
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		c, err := net.Dial("unix", socket)
		if err == nil {
			return c.Close()
		}
		select {
		case <-time.After(askTime):
		case <-p.ended:
			return fmt.Errorf("%s has ended: %w: %s", program, p.err, bytes.TrimSpace(p.said.Bytes()))
		case <-ctx.Done():
			return fmt.Errorf("%s does not listen on %s: %w", program, socket, ctx.Err())
		}
	}
}

// process is a running program.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed once it is gone
	err   error         // how it ended
	said  bytes.Buffer  // on standard error; to be read once it is gone
}

// spawn starts a program. The kernel ends it if we are killed.
func spawn(program string, args ...string) (*process, error) {
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	return spawnCommand(cmd)
}

func spawnCommand(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, ended: make(chan struct{})}
	p.cmd.Stderr = &p.said
	p.cmd.SysProcAttr.Setpgid, p.cmd.SysProcAttr.Pdeathsig = true, syscall.SIGKILL
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// kill ends the process and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails if it is gone
	<-p.ended
}
