package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// daemonNote is what one has to know to read the table.
const daemonNote = "uuidd takes one request a connection, so its rate stands against both of ours. " +
	"A program at 0.33 takes three times as long. The daemon's TPM is swtpm.\n\n"

// emptyProgram is what an 'opmint mint' is compared with.
const emptyProgram = "package main\n\nfunc main() {}\n"

// daemonTable compares the daemon with a server that does nothing, and with
// another that hands out unique keys. The returned function stops them all.
func daemonTable(ctx context.Context) (t *table, s *servers, stop func(), err error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, nil, nil, err
	}
	stop = func() {
		if s != nil {
			s.stop()
		}
		os.RemoveAll(dir)
	}
	if err = buildPrograms(ctx, dir); err == nil {
		s, err = startServers(ctx, dir)
	}
	if err != nil {
		stop()
		return nil, nil, nil, err
	}
	t = &table{id: "daemon", note: daemonNote}
	for _, want := range daemonTargets {
		t.compareRequests(s, want)
	}
	t.compareStream(s)
	t.compareMinter(s)
	t.comparePrograms(s, dir)
	return t, s, stop, nil
}

// buildPrograms builds what is compared, all with the same flags, into dir.
func buildPrograms(ctx context.Context, dir string) error {
	empty := filepath.Join(dir, "empty.go")
	if err := os.WriteFile(empty, []byte(emptyProgram), 0o600); err != nil {
		return err
	}
	for name, source := range map[string]string{
		"empty":   empty,
		"opmint":  "github.com/opmint/opmint/cmd/opmint",
		"opmintd": "github.com/opmint/opmint/cmd/opmintd",
	} {
		linked := filepath.Join(dir, name+".linked")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", linked, source)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: %s", build, err, out)
		}
		if err := install(linked, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// install copies a program. What the linker has just written lies in memory page
// by page and takes longer to start than a copy of it, as installed programs are.
func install(from, to string) error {
	program, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, program, 0o700)
}
