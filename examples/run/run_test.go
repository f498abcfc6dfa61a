package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRun(t *testing.T) {
	dir := build(t)
	e := start(t, dir)
	first := e.shown()
	var typed []string
	for _, line := range first {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			typed = append(typed, command)
		}
	}
	if want := append([]string{setSocket}, session...); !slices.Equal(typed, want) {
		t.Errorf("it typed %q, want %q", typed, want)
	}

	second := start(t, dir)
	if exit, said := second.end(nil); exit != 1 || !strings.Contains(said, "another 'make run' is going on") {
		t.Errorf("a second one: exit code %d, %q", exit, said)
	}

	e.interrupt()
	if _, err := os.Lstat(filepath.Join(dir, socketLink)); err == nil {
		t.Error("the link to the socket is left behind")
	}

	e = start(t, dir)
	if was, is := epoch(t, first), epoch(t, e.shown()); is != was+1 {
		t.Errorf("epoch %d after %d", is, was)
	}
	e.interrupt()
}

// TestNothingIsLeftBehind: neither when it is killed nor when the daemon is.
func TestNothingIsLeftBehind(t *testing.T) {
	dir := build(t)
	e := start(t, dir)
	e.shown()
	children := e.children()
	if err := e.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	e.end(children)

	e = start(t, dir)
	e.shown()
	children = e.children()
	if err := unix.PidfdSendSignal(children["opmintd"], unix.SIGKILL, nil, 0); err != nil {
		t.Fatal(err)
	}
	if exit, said := e.end(children); exit != 1 || !strings.Contains(said, "opmintd has ended: signal: killed") {
		t.Errorf("after the daemon: exit code %d, %q", exit, said)
	}

	// What opmintd refuses is told in its words.
	if err := os.RemoveAll(filepath.Join(dir, home, "state")); err != nil {
		t.Fatal(err)
	}
	exit, said := start(t, dir).end(nil)
	if exit != 1 || !strings.Contains(said, "opmintd has ended: exit status 3 (to begin anew, remove .cache/run)") {
		t.Errorf("a state that is lost: exit code %d, %q", exit, said)
	}
}

func TestWhatIsMissing(t *testing.T) {
	dir := build(t)
	tools := t.TempDir()
	for _, c := range []struct {
		add, says string
	}{
		{"", "curl is not installed"},
		{"curl", "the software TPM is not installed (apt-get install swtpm)"},
	} {
		if c.add != "" {
			at, err := exec.LookPath(c.add)
			if err == nil {
				err = os.Symlink(at, filepath.Join(tools, c.add))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if exit, said := start(t, dir, "PATH="+tools).end(nil); exit != 1 || !strings.Contains(said, c.says) {
			t.Errorf("exit code %d, %q; want %q", exit, said, c.says)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, home, "state"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	exit, said := start(t, dir).end(nil)
	if exit != 1 || !strings.Contains(said, "opmintd has ended: exit status ") || !strings.Contains(said, home+"/state") {
		t.Errorf("a state folder that is none: exit code %d, %q", exit, said)
	}
	if err := os.Remove(filepath.Join(dir, "bin/opmintd")); err != nil {
		t.Fatal(err)
	}
	if exit, said := start(t, dir).end(nil); exit != 1 || !strings.Contains(said, "say 'make run'") {
		t.Errorf("no daemon: exit code %d, %q", exit, said)
	}
}

// TestReadme: the session in the README is what is typed here.
func TestReadme(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Join(append([]string{setSocket}, session...), "\n")
	if !strings.Contains(string(page), "\n```\n"+lines+"\n```\n") {
		t.Errorf("the README lacks the session:\n%s", lines)
	}
}
