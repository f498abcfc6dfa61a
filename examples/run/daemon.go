package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/opmint/opmint/api"
)

const (
	startTime = 30 * time.Second      // for the daemon's first answer
	askTime   = 20 * time.Millisecond // between questions until then
	stopTime  = 10 * time.Second      // for the daemon to end
)

// socketLink leads to the daemon's socket, whose own place is short enough for
// a socket and on a file system that can have one.
const socketLink = home + "/opmint.sock"

// daemon is an opmintd of ours.
type daemon struct {
	folder string // of its socket
	log    string
	cmd    *exec.Cmd
	ended  chan struct{} // closed once it is gone
	err    error         // how it ended
}

// startDaemon starts opmintd on the TPM at addr, and returns once it can mint.
func startDaemon(ctx context.Context, addr string) (*daemon, error) {
	folder, err := os.MkdirTemp("", "opmint")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the daemon's socket: %w", err)
	}
	d := &daemon{folder: folder, log: filepath.Join(home, "opmintd.log"), ended: make(chan struct{})}
	socket := filepath.Join(folder, "opmint.sock")
	err = d.spawn("--socket", socket, "--state", filepath.Join(home, "state"), "--tpm", addr)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	err = os.Remove(socketLink)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		err = os.Symlink(socket, socketLink)
	}
	if err == nil {
		err = d.wait(ctx, &api.Client{Socket: socket})
	}
	if err != nil {
		return nil, errors.Join(err, d.stop())
	}
	return d, nil
}

// spawn starts the process, out of reach of the terminal's Ctrl-C. If we are
// killed the kernel stops it: when the thread that started it ends, and none ends
// before the program does.
func (d *daemon) spawn(args ...string) error {
	log, err := os.Create(d.log)
	if err != nil {
		return fmt.Errorf("make the daemon's log: %w", err)
	}
	defer log.Close()
	d.cmd = exec.Command("bin/opmintd", args...)
	d.cmd.Stderr = log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := d.cmd.Start(); err != nil {
		return fmt.Errorf("start opmintd: %w", err)
	}
	go func() {
		d.err = d.cmd.Wait()
		close(d.ended)
	}()
	return nil
}

// wait returns once the daemon can mint.
func (d *daemon) wait(ctx context.Context, client *api.Client) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		_, err := client.Ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(askTime):
		case <-d.ended:
			return d.explain()
		case <-ctx.Done():
			return fmt.Errorf("opmintd is not ready, see %s: %w", d.log, err)
		}
	}
}

// stop stops the daemon, if it is not gone already.
func (d *daemon) stop() error {
	defer os.RemoveAll(d.folder)
	defer os.Remove(socketLink)
	select {
	case <-d.ended:
		return nil
	default:
	}
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop opmintd: %w", err)
	}
	select {
	case <-d.ended:
	case <-time.After(stopTime):
		_ = d.cmd.Process.Kill()
		<-d.ended
	}
	if d.err != nil {
		return d.explain()
	}
	return nil
}

// explain says how the daemon ended.
func (d *daemon) explain() error {
	text, err := os.ReadFile(d.log)
	if err != nil {
		return fmt.Errorf("opmintd has ended: %v; its log: %w", d.err, err)
	}
	return fmt.Errorf("opmintd has ended: %v (to begin anew, remove %s); its log, %s, ends with:\n%s",
		d.err, home, d.log, strings.TrimSpace(string(text[max(0, len(text)-1000):])))
}
