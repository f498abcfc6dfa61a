package main

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/api"
)

// commands returns the program's commands, with those of cobra.
func commands(t *testing.T) []*cobra.Command {
	t.Helper()
	root := newRootCommand()
	root.SetOut(io.Discard)
	refuseMisuse(root)
	var all []*cobra.Command
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		all = append(all, cmd)
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return all
}

func TestEveryCommandHasHelp(t *testing.T) {
	for _, cmd := range commands(t) {
		path := cmd.CommandPath()
		if cmd.Short == "" || cmd.Long == "" {
			t.Errorf("%s lacks a short or a long description", path)
		}
		cobras := cmd.Name() == "help" || strings.HasPrefix(path, "opmint completion")
		if cmd.Example == "" && !cobras {
			t.Errorf("%s has no example", path)
		}
		var stdout, stderr strings.Builder
		code := run(append(strings.Fields(path)[1:], "--help"), strings.NewReader(""), &stdout, &stderr)
		if code != exitDone || stderr.Len() > 0 {
			t.Errorf("%s --help exits %d and says %q", path, code, &stderr)
		}
		if help := stdout.String(); !strings.HasPrefix(help, cmd.Long[:20]) || !strings.Contains(help, cmd.Example) {
			t.Errorf("%s --help prints %q", path, help)
		}
		for line := range strings.Lines(stdout.String()) {
			if len(line) > 100 && !cobras {
				t.Errorf("%s --help has a line of %d characters: %s", path, len(line), line)
			}
		}
	}
}

// TestExamplesWork runs the examples of all commands that need no shell, come to an
// end, and do not change the machine.
func TestExamplesWork(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	t.Setenv(api.SocketVariable, socket)
	var d testDaemon
	if err := d.start(socket); err != nil {
		t.Fatal(err)
	}
	defer d.stop()
	for _, cmd := range commands(t) {
		for line := range strings.Lines(cmd.Example) {
			args := strings.Fields(line)
			if args[0] != "opmint" {
				t.Errorf("%s: example of another program: %s", cmd.CommandPath(), line)
			}
			// Doctor's depend on the machine.
			if cmd.Name() == "provision" || cmd.Name() == "doctor" || strings.ContainsAny(line, "|<>$'") ||
				strings.Contains(line, "--follow") {
				continue
			}
			var stdout, stderr strings.Builder
			code := run(args[1:], strings.NewReader(""), &stdout, &stderr)
			silent := strings.Contains(line, " op list ") || strings.Contains(line, " op accept") // nothing is there, and nothing to say
			if code != exitDone || (stdout.Len() == 0) != silent || stderr.Len() > 0 {
				t.Errorf("%s exits %d, prints %q and says %q", line, code, &stdout, &stderr)
			}
		}
	}
}

func TestInputThatCannotBeRead(t *testing.T) {
	var stdout, stderr strings.Builder
	code := run([]string{"inspect", "-"}, iotest.ErrReader(errors.New("no medium")), &stdout, &stderr)
	want := "opmint inspect: read names from standard input: no medium\n"
	if code != exitError || stdout.Len() > 0 || stderr.String() != want {
		t.Errorf("exit code %d, printed %q, said %q; want %q", code, &stdout, &stderr, want)
	}
}

func TestFlagProblem(t *testing.T) {
	for _, c := range []struct{ arg, want string }{
		{"--count=x", `invalid argument "x" for "--count" flag: invalid syntax`},
		{"--count=99999999999999999999", `invalid argument "99999999999999999999" for "--count" flag: value out of range`},
		{"--sure=x", `invalid argument "x" for "--sure" flag: want true or false`},
		{"--none", "unknown flag: --none"},
	} {
		var cmd cobra.Command
		cmd.Flags().Int("count", 0, "")
		cmd.Flags().Bool("sure", false, "")
		err := cmd.ParseFlags([]string{c.arg})
		if got := flagProblem(err); got.Error() != c.want {
			t.Errorf("%s: got %q, want %q", c.arg, got, c.want)
		}
	}
}
