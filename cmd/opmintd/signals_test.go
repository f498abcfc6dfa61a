package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// TestHangup: a signal that many take for a request to read options again, or send
// because a terminal was closed, ends nothing.
func TestHangup(t *testing.T) {
	r := newRig(t)
	p := r.start()
	for range 2 {
		must(t, p.cmd.Process.Signal(syscall.SIGHUP))
	}
	if !p.logs("SIGHUP changes nothing") {
		t.Errorf("nothing is said of it:\n%s", p.output())
	}
	p.mint(1)
	p.stop()
}

// TestSecondSignal: who does not want to wait for a TPM that does not answer, need not.
func TestSecondSignal(t *testing.T) {
	// What a shell runs in the background ignores SIGINT, and so does what that starts, but
	// not where it was caught.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGINT)
	defer signal.Stop(caught)
	for _, sent := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		r := newRig(t)
		b := newBus(r)
		p := r.start()
		goOn, renewed := b.renewing(p)
		must(t, p.cmd.Process.Signal(sent))
		if !p.logs("another signal ends it at once") {
			t.Fatalf("%v: it does not stop:\n%s", sent, p.output())
		}
		must(t, p.cmd.Process.Signal(sent))
		<-p.ended
		if how := p.cmd.ProcessState.Sys().(syscall.WaitStatus); how.Signal() != sent {
			t.Errorf("%v ends it with %v", sent, how)
		}
		if err := <-renewed; err == nil {
			t.Errorf("%v: it was renewed", sent)
		}
		goOn()
	}
}

// TestKilled: the start after a SIGKILL says what it cost.
func TestKilled(t *testing.T) {
	r := newRig(t)
	r.start().kill()
	p := r.start()
	if !p.logs("the daemon before did not end in order") {
		t.Errorf("nothing is said of it:\n%s", p.output())
	}
	p.stop()
	r.start().stop()
}

// TestSocketRemoved: a daemon that nobody can reach ends, and says so; the next one
// makes the socket anew. What has taken the socket's place is not its to remove.
func TestSocketRemoved(t *testing.T) {
	for what, c := range map[string]struct {
		remove func(path string) error
		says   string
	}{
		"socket": {os.Remove, "was removed: no client can find the daemon any more"},
		"folder": {func(path string) error { return os.RemoveAll(filepath.Dir(path)) }, "was removed: no client can find"},
		"another": {func(path string) error {
			writeFile(t, path+"2", nil)
			return os.Rename(path+"2", path)
		}, "something else has taken the place of socket"},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t)
			r.socket = filepath.Join(filepath.Dir(r.socket), "run", "sock")
			p := newProcess(t, r.args()...)
			p.cmd.Env = append(p.cmd.Env, "WATCHDOG_USEC=400000")
			p.launch()
			p.client.Socket = r.socket
			if !p.logs("msg=started") {
				t.Fatal(p.output())
			}
			p.mint(1)
			must(t, c.remove(r.socket))
			p.endsWith(exitError, c.says)
			if what == "another" {
				r.refused(exitError, "there is something that is no socket")
				must(t, os.Remove(r.socket))
			}
			r.start().stop()
		})
	}
}
