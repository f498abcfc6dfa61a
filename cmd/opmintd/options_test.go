package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUsage has command lines that are wrong whatever the machine is like.
func TestUsage(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"mint"}, `takes no arguments, and there is "mint"`},
		{[]string{"--frob"}, "unknown flag: --frob"},
		{[]string{"--socket", ""}, "the path is empty"},
		{[]string{"--state", ""}, "the path is empty"},
		{[]string{"--tpm", "tpmrm0"}, "not the address of a TPM"},
		{[]string{"--tpm", "none"}, "--tpm none leaves no TPM that --assume physical could mean"},
		{[]string{"--assume", "Physical"}, "want physical or virtual"},
		{[]string{"--nv-index", "0x01c00002"}, "not in the owner's range"},
		{[]string{"--names-per-epoch", "0"}, "want a number from 1 to 1099511627776"},
		{[]string{"--names-per-epoch", "-1"}, "want a number from 1 to 1099511627776"},
		{[]string{"--names-per-epoch", "1099511627777"}, "want a number from 1 to 1099511627776"},
		{[]string{"--json"}, "--json is for --version"},
		{[]string{"--log-format", "xml"}, "want text or json"},
		{[]string{"--log-level", "loud"}, "want debug or info or warn or error"},
	} {
		r.refused(exitUsage, c.says, c.args...)
		r.refused(exitUsage, "see 'opmintd --help'", c.args...)
	}
	if _, err := os.Stat(r.state); !os.IsNotExist(err) {
		t.Errorf("a wrong command line made the state folder: %v", err)
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--version", "opmintd "}, {"--version", "\nAPI level 1\n"}, {"--version --json", `"api_level":1,`},
		{"--help", "--assume physical|virtual"},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(c.args), &stdout, &stderr); code != exitDone ||
			!strings.Contains(stdout.String(), c.want) || stderr.Len() > 0 {
			t.Errorf("%s: exit %d\n%s%s", c.args, code, stdout.String(), stderr.String())
		}
	}
}

// TestPlaces: what a flag says comes before the environment.
func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	fromEnvironment, fromFlag := filepath.Join(dir, "environment"), filepath.Join(dir, "flag")
	t.Setenv("OPMINT_SOCKET", fromEnvironment)
	t.Setenv("XDG_STATE_HOME", dir)
	for flag, want := range map[path]string{"": fromEnvironment, path(fromFlag): fromFlag} {
		d := daemon{options: &options{socket: flag}}
		l, err := d.listen()
		if err != nil || l.Addr().String() != want {
			t.Errorf("--socket %q: %v, %v", flag, l, err)
			continue
		}
		must(t, l.Close())
	}
	o := options{state: "/state"}
	if state, err := o.stateFolder(); state != "/state" || err != nil {
		t.Errorf("%s, %v", state, err)
	}
}
