package main

import (
	"bufio"
	"io"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// follow types a remedy as it is printed, but for its words in capitals.
func (w *ward) follow(remedy string) {
	w.t.Helper()
	for word, value := range w.fill {
		if !strings.Contains(remedy, word) {
			w.t.Errorf("%s has no %s", remedy, word)
		}
		remedy = strings.ReplaceAll(remedy, word, value)
	}
	w.run(remedy)
}

// A job is a command line that was typed.
type job struct {
	cmd   *exec.Cmd
	out   *io.PipeReader
	ended chan struct{}
	err   error // valid once it has ended
}

// run types a command line, and returns when it has ended, which has to be well, or a
// daemon of it has started, which runs until the end of the test.
func (w *ward) run(line string) *job {
	w.t.Helper()
	j := w.begin(line)
	if w.waits != "" {
		go io.Copy(io.Discard, j.out) // ends with the job
		w.await(j)
		return j
	}
	var log strings.Builder
	for lines := bufio.NewScanner(j.out); lines.Scan(); {
		log.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "msg=started") {
			go io.Copy(io.Discard, j.out) // ends with the job
			return j
		}
	}
	<-j.ended
	if j.err != nil {
		w.t.Fatalf("$ %s\n%v\n%s", line, j.err, &log)
	}
	return j
}

// await waits until a job listens at w.waits. A swtpm says nothing when it does.
func (w *ward) await(j *job) {
	w.t.Helper()
	for {
		if c, err := net.Dial("unix", w.waits); err == nil {
			c.Close()
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-j.ended:
			w.t.Fatalf("it does not listen at %s: %v", w.waits, j.err)
		}
	}
}

// daemonElsewhere starts a daemon with the ward's TPM, whatever stands before that.
func (w *ward) daemonElsewhere() {
	w.t.Helper()
	was := w.addr
	w.addr = w.tpm.Addr()
	w.daemon()
	w.addr = was
}

// begin types a command line and does not wait. Its output has to be read.
func (w *ward) begin(line string) *job {
	w.t.Helper()
	j := &job{cmd: w.command("sh", "-c", line), ended: make(chan struct{})}
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	j.cmd.Stdin = strings.NewReader(w.stdin)
	out, in := io.Pipe()
	j.out, j.cmd.Stdout, j.cmd.Stderr = out, in, in
	must(w.t, j.cmd.Start())
	go func() {
		j.err = j.cmd.Wait()
		in.Close()
		close(j.ended)
	}()
	w.t.Cleanup(func() {
		go io.Copy(io.Discard, out) // ends with the job
		select {
		case <-j.ended:
		default:
			// With all that it has started, for whose end, too, Wait waits.
			_ = syscall.Kill(-j.cmd.Process.Pid, syscall.SIGKILL)
			<-j.ended
		}
	})
	return j
}
