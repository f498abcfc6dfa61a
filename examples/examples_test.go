// Package examples_test runs the examples against a daemon, and sees that the
// README shows them as they are.
package examples_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/api/server"
	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/store/storetest"
)

// python is Debian's, which has Debian's python3-cryptography.
const python = "/usr/bin/python3"

// daemon is what a server asks for besides names.
type daemon struct{ epoch uint64 }

func (d *daemon) Next(context.Context) (uint64, error) { d.epoch++; return d.epoch, nil }

func (d *daemon) CanClaim(context.Context) error { return nil }

func (d *daemon) Renew(context.Context) error { return api.ErrUnavailable }

func (d *daemon) Identity(context.Context) (*api.Identity, error) { return nil, api.ErrUnavailable }

func (d *daemon) Lookup(context.Context, keygen.Name) (time.Time, bool, error) {
	return time.Time{}, false, nil
}

// start starts a daemon in the place where the examples look, which the returned
// function stops.
func start(t *testing.T) (stop func()) {
	t.Helper()
	minter, err := keygen.NewMinter(t.Context(), keygen.MinterConfig{
		Class: keygen.ClassH, Identity: keygen.NewIdentity([32]byte{}, [32]byte{}, [16]byte{1}), Counter: new(daemon),
	})
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	t.Setenv(api.SocketVariable, socket)
	listener, err := server.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	intents := remember(t, minter)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		log := slog.New(slog.NewTextHandler(t.Output(), nil))
		done <- server.New(server.Config{Minter: minter, Source: new(daemon), Intents: intents, Log: log}).Serve(ctx, listener)
	}()
	stop = func() {
		if cancel(); done != nil {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		done = nil
	}
	t.Cleanup(stop)
	return stop
}

// remember returns the intents of a daemon whose clock stands still.
func remember(t *testing.T, minter journal.Minter) *journal.Intents {
	t.Helper()
	j, err := journal.Open(t.Context(), storetest.NewMemory(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	intents, err := j.Intents(t.Context(), journal.IntentsConfig{
		Minter: minter, Random: rand.Reader, Horizon: 192 * time.Hour, MaxIntents: 100, MaxStreams: 100,
		Boot: func() time.Duration { return 0 },
	})
	if err != nil {
		t.Fatal(err)
	}
	return intents
}

// names runs a program and returns the names that it prints, one a line, all
// different.
func names(t *testing.T, program string, args ...string) (all []keygen.Name) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		name, err := keygen.Parse(strings.TrimSuffix(line, "\n"))
		if err != nil || seen[line] {
			t.Fatalf("%v: %q, seen before: %v, %v", cmd, line, seen[line], err)
		}
		seen[line] = true
		all = append(all, name)
	}
	return all
}

// TestExamplesMint: so many names as were asked for; an error when there is no
// daemon.
func TestExamplesMint(t *testing.T) {
	for _, program := range []string{"curl/mint.sh", "node/mint.js", "python/opmint.py"} {
		t.Run(program, func(t *testing.T) {
			stop := start(t)
			if got := names(t, program, "2500"); len(got) != 2500 {
				t.Errorf("%d names", len(got))
			}
			stop()
			if out, err := exec.Command(program, "1").Output(); err == nil || len(out) > 0 {
				t.Errorf("without a daemon: %q, %v", out, err)
			}
		})
	}
	for _, program := range []string{"curl/mint.sh", "node/mint.js"} {
		start(t)
		_, err := exec.Command(program, "0").Output()
		if err == nil {
			t.Errorf("%s: no error of a bad count", program)
		}
	}
}

// TestShellKeepsTheName: the same name on every run, also of two at once.
func TestShellKeepsTheName(t *testing.T) {
	start(t)
	build(t, "../cmd/opmint")
	file := filepath.Join(t.TempDir(), "order-7")
	results := make(chan string)
	const runs = 4
	for range runs {
		go func() {
			out, err := exec.Command("shell/name-of.sh", file).CombinedOutput()
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
			results <- string(out)
		}()
	}
	first := <-results
	if _, err := keygen.Parse(strings.TrimSuffix(first, "\n")); err != nil {
		t.Error(err)
	}
	for range runs - 1 {
		if again := <-results; again != first {
			t.Errorf("%q, then %q", first, again)
		}
	}
}

// TestPythonVectors: the names that Python makes are those of the vectors.
func TestPythonVectors(t *testing.T) {
	const script = `
import base64, json, sys
sys.path.insert(0, "python")
import opmint
for v in json.load(open("../testdata/vectors/names.json"))["valid"]:
    key = base64.urlsafe_b64encode(bytes.fromhex(v["lease_key"])).decode().rstrip("=")
    lease = {"class": v["class"], "identity": v["name"][3:21], "epoch": v["epoch"], "key": key}
    assert opmint.name(lease, v["seq"]) == v["name"], v
    print(v["name"])
`
	if got := names(t, python, "-B", "-c", script); len(got) < 5 {
		t.Errorf("%d vectors", len(got))
	}
}

// TestPythonDropsLeases: the lease of a parent is void in its child, and a lease
// ends with its time, by either clock, and with the daemon.
func TestPythonDropsLeases(t *testing.T) {
	const script = `
import os, sys, time
sys.path.insert(0, "python")
import opmint
minter = opmint.Minter()
print(minter.mint(), flush=True)
if os.fork() == 0:
    print(minter.mint(), flush=True)
    os._exit(0)
os.wait()
print(minter.mint())
taken = minter.taken
minter.taken = (taken[0] - 60, taken[1])
print(minter.mint())
minter.taken = (taken[0] + 1, taken[1] - 60)
print(minter.mint())
`
	start(t)
	got := names(t, python, "-B", "-c", script)
	if len(got) != 5 {
		t.Fatalf("%d names", len(got))
	}
	// The child's lease is the second, the parent goes on with the first.
	for i, want := range []uint64{0, 1000, 1, 2000, 3000} {
		if got[i].Seq() != want {
			t.Errorf("name %d has seq %d, want %d", i, got[i].Seq(), want)
		}
	}
}

// TestPythonWithoutADaemon: when the daemon has gone there is no name, though the
// lease has time left.
func TestPythonWithoutADaemon(t *testing.T) {
	const script = `
import sys
sys.path.insert(0, "python")
import opmint
minter = opmint.Minter()
print(minter.mint(), flush=True)
sys.stdin.readline()
try:
    print(minter.mint())
except ConnectionRefusedError: print("refused")
except FileNotFoundError: print("gone")
`
	stop := start(t)
	cmd := exec.CommandContext(t.Context(), python, "-B", "-c", script)
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	name, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	stop()
	in.Close()
	rest, err := io.ReadAll(lines)
	if err != nil || string(rest) != "gone\n" {
		t.Errorf("%s%s, %v", name, rest, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
