package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/opmint/opmint/swtpm"
)

// ward is a machine in trouble: a software TPM, a state folder and a socket of its own,
// the programs as they are built, and a shell to type remedies into.
type ward struct {
	t       *testing.T
	tpm     *swtpm.TPM
	tpmDir  string // the state of the software TPM
	dir     string // which everybody may enter
	tools   string // comes first in PATH: what stands in for programs of the machine's
	addr    string
	state   string
	socket  string
	env     []string
	flags   []string            // of doctor, besides those for these places
	fill    map[string]string   // for words in capitals
	waits   string              // the socket that what is typed next makes
	stdin   string              // what the operator types after the remedy
	inside  []string            // a command line that runs another in a mount namespace
	someone *syscall.Credential // who runs doctor, if it is not who runs the test
}

// buildPrograms builds opmint and opmintd into a folder.
func buildPrograms(t *testing.T) string {
	t.Helper()
	bin := openFolder(t)
	if out, err := exec.Command("go", "build", "-o", bin, ".", "../opmintd").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

// openFolder returns a folder with a short path that everybody may enter.
func openFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ward")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	must(t, os.Chmod(dir, 0o755))
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newWard(t *testing.T, bin string) *ward {
	t.Helper()
	dir := openFolder(t)
	w := &ward{
		t: t, dir: dir, tpmDir: filepath.Join(dir, "tpm"), tools: filepath.Join(dir, "tools"),
		state: filepath.Join(dir, "state"), socket: filepath.Join(dir, "sock"), fill: map[string]string{},
	}
	must(t, os.Mkdir(w.tools, 0o755))
	w.env = append(os.Environ(), "PATH="+w.tools+":"+bin+":"+os.Getenv("PATH"), "OPMINT_SOCKET=")
	var err error
	w.tpm, err = swtpm.Start(w.tpmDir)
	must(t, err)
	t.Cleanup(func() {
		w.tpm.Kill()
		must(t, w.tpm.Stop())
	})
	w.addr = w.tpm.Addr()
	// No test depends on what the machine has of its own.
	w.tool("systemctl", "echo 'System has not been booted with systemd as init system (PID 1).' >&2; exit 1")
	w.tool("sudo", `exec "$@"`)
	return w
}

// tool puts a shell script in the place of a program of the machine's. Its folder is $HERE.
func (w *ward) tool(name, script string) {
	w.t.Helper()
	text := "#!/bin/sh\nHERE=" + w.dir + "\n" + script + "\n"
	// A child that another test forks meanwhile would have it open for writing until it
	// becomes another program, and nobody can run such a file (ETXTBSY).
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	must(w.t, os.WriteFile(filepath.Join(w.tools, name), []byte(text), 0o755))
}

// places are the flags that say where things are.
func (w *ward) places() []string {
	return []string{"--tpm", w.addr, "--state", w.state, "--socket", w.socket}
}

// command returns a command of this machine's.
func (w *ward) command(args ...string) *exec.Cmd {
	w.t.Helper()
	args = append(w.inside, args...)
	// The PATH is the ward's, not that of the test.
	args = append([]string{"/usr/bin/env", "--"}, args...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = w.env
	cmd.Dir = w.dir
	return cmd
}

// doctor runs opmint doctor.
func (w *ward) doctor() map[string]finding {
	w.t.Helper()
	args := append([]string{"opmint", "doctor", "--json"}, w.places()...)
	cmd := w.command(append(args, w.flags...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: w.someone}
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	var d diagnosis
	if json.Unmarshal(out, &d) != nil || len(d.Checks) != len(checks) {
		w.t.Fatalf("doctor: %v\n%s\n%s", err, out, said.String())
	}
	if failed := err != nil; failed != (d.Result == conditionFailure) || failed && cmd.ProcessState.ExitCode() != 1 {
		w.t.Errorf("the result is %s, and doctor ends with %v", d.Result, err)
	}
	found := map[string]finding{}
	for _, f := range d.Checks {
		found[f.Check] = f
	}
	return found
}

// wants fails the test unless a check ends so.
func (w *ward) wants(check string, state condition, says string) finding {
	w.t.Helper()
	found := w.doctor()
	if f := found[check]; f.State != state || !strings.Contains(f.Says, says) {
		w.t.Fatalf("%s is %+v, want %s with %q; all: %+v", check, f, state, says, found)
	}
	return found[check]
}

// daemon starts a daemon, which runs until the end of the test.
func (w *ward) daemon(more ...string) *job {
	w.t.Helper()
	args := append(append([]string{"exec", "opmintd"}, w.places()...), more...)
	return w.run(strings.Join(args, " "))
}

// once starts a daemon and ends it, for what it leaves.
func (w *ward) once() {
	w.t.Helper()
	j := w.daemon()
	must(w.t, j.cmd.Process.Signal(syscall.SIGTERM))
	<-j.ended
}

// enter has all that follows run in a mount namespace, after a command line there.
func (w *ward) enter(setup string) {
	w.t.Helper()
	// It lives as long as somebody may type.
	cmd := w.command("unshare", "-rm", "sh", "-c", setup+" && echo there && exec cat")
	stdin, err := cmd.StdinPipe()
	must(w.t, err)
	stdout, err := cmd.StdoutPipe()
	must(w.t, err)
	cmd.Stderr = w.t.Output()
	must(w.t, cmd.Start())
	w.t.Cleanup(func() {
		stdin.Close()
		must(w.t, cmd.Wait())
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "there\n" {
		w.t.Fatalf("%s: %q, %v", setup, line, err)
	}
	w.inside = []string{"nsenter", "-t", strconv.Itoa(cmd.Process.Pid), "-U", "-m", "--preserve-credentials", "--"}
}
