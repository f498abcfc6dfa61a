package main

import (
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/tpm"
)

type doctorOptions struct {
	tpm    tpmFlags
	client api.Client
	json   bool
}

func newDoctorCommand() *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is wrong with this machine, and what to type about it",
		Long: `Say what is wrong with this machine, and what to type about it: with the TPM and the
counter in it, the state folder, the socket, the daemon and its unit, the clock. It
needs no daemon, and does not get in the way of one: it changes nothing, claims
nothing, and does not wake a daemon that systemd starts with the first request.

Each check is a line: ok; warning, where names are minted and somebody should see to
it; failure, where none are minted or secrets are open; not-checked, with the reason,
where it cannot be known. Below a line stands the command that helps, for a shell;
words in capitals are to be filled in. Flags are opmintd's: say here what it was told.
Root sees most.

Exit codes: 0 no failure, though there may be warnings; 1 failures. With --json it is
an object with version, result (ok, warning, failure) and checks, a list of objects
with check, state, says and, where there is one, remedy. Checks, their order and the
states stay as they are; what a line says, and the remedy, may be put better.`,
		Example: `  opmint doctor
  opmint doctor --json
  opmint doctor --tpm none --state ./state --socket ./opmint.sock`,
		Args:                  noArguments,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return doctor(cmd, &o)
		},
	}
	o.tpm.registerPlaces(cmd, noTPM)
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	addSocketFlag(cmd, &o.client)
	return cmd
}

func doctor(cmd *cobra.Command, o *doctorOptions) error {
	f, err := examine(cmd, o, progress(cmd.ErrOrStderr(), cmd.CommandPath()))
	if errors.Is(err, tpm.ErrAddress) {
		return misuse(cmd, "%w", err)
	}
	if err != nil {
		return err
	}
	d := diagnose(f)
	print := d.print
	if o.json {
		print = func(w io.Writer) error { return printJSON(w, d) }
	}
	if err := print(cmd.OutOrStdout()); err != nil {
		return err
	}
	return d.err()
}

// progress tells who watches w what takes long.
func progress(w io.Writer, program string) func(string) {
	if !isTerminal(w) {
		return func(string) {}
	}
	return func(what string) { fmt.Fprintf(w, "%s: %s\n", program, what) }
}

// checks are what doctor looks at, in the order in which one thing needs another.
var checks = []struct {
	name  string
	judge func(*facts) finding
}{
	{"device", checkDevice},
	{"permissions", checkPermissions},
	{"lockout", checkLockout},
	{"nv", checkNV},
	{"index", checkIndex},
	{"ek-certificate", checkEKCertificate},
	{"wear", checkWear},
	{"clock", checkClock},
	{"state", checkState},
	{"format", checkFormat},
	{"unit", checkUnit},
	{"socket", checkSocket},
	{"group", checkGroup},
	{"daemon", checkDaemon},
	{"version", checkVersion},
	{"class", checkClass},
	{"randomness", checkRandomness},
}

// facts is what was seen. The checks judge it and look at nothing themselves.
type facts struct {
	typed    typed
	packages string // the program that installs packages; empty if none is known
	me       person
	unit     unitFacts
	socket   socketFacts
	daemon   daemonFacts
	tpm      tpmFacts
	state    stateFacts
	clock    clockFacts
	class    classFacts
}

// examine looks at this machine. Whatever cannot be seen is a fact, not an error.
func examine(cmd *cobra.Command, o *doctorOptions, tell func(string)) (*facts, error) {
	ctx := cmd.Context()
	f := &facts{me: whoAmI(), packages: packageManager()}
	f.unit = askSystemd(ctx, f.me.uid)
	if err := f.adopt(cmd); err != nil {
		return nil, err
	}
	var err error
	if o.tpm.state == "" {
		var dir string
		if dir, err = api.StateFolder(); err != nil {
			return nil, err
		}
		o.tpm.state = pathFlag(dir)
	}
	if f.socket = lookAtSocket(&o.client, &f.unit, f.me.uid); f.socket.listens {
		tell("asking the daemon")
		f.daemon = askDaemon(ctx, &o.client)
	}
	tell("asking the TPM, which can take some seconds")
	if f.tpm, err = examineTPM(ctx, &o.tpm); err != nil {
		return nil, err
	}
	f.tpm.daemonUser = f.unit.runsAs(f.me.uid)
	tell("reading the state folder")
	f.state = lookAtState(string(o.tpm.state))
	f.clock = lookAtClocks()
	f.class = judgeMachine(&f.tpm)
	return f, nil
}

// adopt takes from the unit what the operator did not say. Remedies say both.
func (f *facts) adopt(cmd *cobra.Command) error {
	for _, name := range []string{"tpm", "nv-index", "state", "socket"} {
		value := f.unit.told(name)
		if value == "" || cmd.Flag(name).Changed {
			continue
		}
		if err := cmd.Flags().Set(name, value); err != nil {
			return fmt.Errorf("%s says --%s %s: %w", serviceUnit, name, value, err)
		}
	}
	f.typed = typedFlags(cmd)
	return nil
}

// packageManager returns how this machine installs packages.
func packageManager() string {
	for _, manager := range []string{"apt-get", "dnf", "zypper"} {
		if _, err := exec.LookPath(manager); err == nil {
			return manager
		}
	}
	return ""
}
