package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/opmint/opmint/keygen"
)

// lastLine begins the last line that is shown before Ctrl-C.
const lastLine = "Ctrl-C stops both."

// build puts the programs into a new folder, as 'make run' does into the
// project's, and returns the folder.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for to, packages := range map[string][]string{
		"bin/": {"../../cmd/opmint", "../../cmd/opmintd"},
		"run":  {"."},
	} {
		cmd := exec.Command("go", append([]string{"build", "-o", dir + "/" + to}, packages...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
	}
	return dir
}

// example is the program, running.
type example struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout *bufio.Reader
	stderr bytes.Buffer
}

func start(t *testing.T, dir string, env ...string) *example {
	t.Helper()
	e := &example{t: t, cmd: exec.Command("./run")}
	e.cmd.Dir, e.cmd.Stderr = dir, &e.stderr
	// What is left behind after a kill goes with the test.
	e.cmd.Env = append(append(os.Environ(), "TMPDIR="+dir), env...)
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	e.stdout = bufio.NewReader(out)
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.cmd.Process.Kill() })
	return e
}

// shown returns the lines up to the last.
func (e *example) shown() (lines []string) {
	e.t.Helper()
	for {
		line, err := e.stdout.ReadString('\n')
		if err != nil {
			_ = e.cmd.Wait()
			e.t.Fatalf("after %q: %v; %s", lines, err, &e.stderr)
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
		if strings.HasPrefix(line, lastLine) {
			return lines
		}
	}
}

// end waits for the end of the program and of the processes that it started, and
// returns what it said on the way.
func (e *example) end(children map[string]int) (exit int, said string) {
	e.t.Helper()
	rest, err := io.ReadAll(e.stdout)
	if err != nil {
		e.t.Error(err)
	}
	// What it says is in the exit code.
	_ = e.cmd.Wait()
	for _, fd := range children {
		e.await(fd)
	}
	return e.cmd.ProcessState.ExitCode(), string(rest) + e.stderr.String()
}

// await waits for the end of the process that a descriptor stands for.
func (e *example) await(pidfd int) {
	e.t.Helper()
	defer unix.Close(pidfd)
	err := error(unix.EINTR)
	for err == unix.EINTR {
		_, err = unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, -1)
	}
	if err != nil {
		e.t.Errorf("wait for the end of a process: %v", err)
	}
}

// interrupt is Ctrl-C: it ends everything in order.
func (e *example) interrupt() {
	e.t.Helper()
	children := e.children()
	if err := e.cmd.Process.Signal(os.Interrupt); err != nil {
		e.t.Fatal(err)
	}
	if exit, said := e.end(children); exit != 0 || said != "\nStopped.\n" {
		e.t.Errorf("after Ctrl-C: exit code %d, %q", exit, said)
	}
}

// children returns a descriptor of each process that the program started and that
// is running, by its name.
func (e *example) children() map[string]int {
	e.t.Helper()
	found := map[string]int{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		e.t.Fatal(err)
	}
	for _, stat := range stats {
		text, _ := os.ReadFile(stat) // may be gone
		var pid, parent int
		var name string
		var state byte
		_, err := fmt.Sscanf(string(text), "%d %s %c %d", &pid, &name, &state, &parent)
		if err != nil || parent != e.cmd.Process.Pid {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			e.t.Fatal(err)
		}
		found[strings.Trim(name, "()")] = fd
	}
	if names := slices.Sorted(maps.Keys(found)); !slices.Equal(names, []string{"opmintd", "swtpm"}) {
		e.t.Fatalf("it runs %q", names)
	}
	return found
}

// epoch returns the epoch of the first name among the lines.
func epoch(t *testing.T, lines []string) uint64 {
	t.Helper()
	for _, line := range lines {
		if name, err := keygen.Parse(line); err == nil {
			return name.Epoch()
		}
	}
	t.Fatalf("no name in %q", lines)
	return 0
}
