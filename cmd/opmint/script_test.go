package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/opmint/opmint/api"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"opmint": main})
}

// TestScripts runs the scripts with a name of each class in H, V, J and S,
// and a newline in NEWLINE. No daemon is there before a script starts one.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "daemon": daemonCommand, "swtpm": startTPM, "tpm": meddle,
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("H", "h1-emhwdgg60rf5x9vn4a-00000001-00000000-r4trds3k1d7z9ygzca")
			env.Setenv("V", "v1-jfddf7x2j6s6pvsjts-00000001-00000000-m4nf2m15dgsgpv1tdg")
			env.Setenv("J", "j1-mfy3v2w0adrxb1b0pz-00000001-00000000-fn79s05xzn12hmmb16")
			env.Setenv("S", "s1-9b5b4wc2gktwxhk4hvfq2nettx20hcbxgdrcct3wc95jwhwkb2q3a5a")
			env.Setenv("NEWLINE", "\n")
			// The race detector would sleep a second at each exit.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			env.Setenv(api.SocketVariable, filepath.Join(env.WorkDir, "s"))
			d := new(testDaemon)
			env.Values[daemonKey] = d
			env.Defer(func() {
				if err := d.stop(); err != nil {
					t.Error(err)
				}
			})
			return nil
		},
	})
}

// exits is the script command "exits CODE COMMAND...": the command fails with
// that exit code, says why in one line, and has no result.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); !errors.As(err, &exit) || exit.ExitCode() != want {
		ts.Fatalf("%v, want exit status %d", err, want)
	}
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("a failure with a result: %q", out)
	}
	if said := ts.ReadFile("stderr"); strings.Index(said, "\n") != len(said)-1 {
		ts.Fatalf("want one line on standard error, got %q", said)
	}
}
