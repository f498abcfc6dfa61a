package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/tpm"
)

// version is set by -ldflags "-X main.version=v1.2.3" in builds of a release.
var version string

// options is what the command line says.
type options struct {
	socket, state              path // empty: the default
	tpm                        string
	assume                     choice
	nvIndex                    index
	ownerFile, endorsementFile path
	namesPerEpoch              count // 0: all that an epoch has
	logFormat, logLevel        choice
}

// newCommand returns the command, whose flags set o and which then runs serve.
func newCommand(o *options, serve func(context.Context) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "opmintd",
		Short: "Mints names of operations from the TPM's counter",
		Long: `opmintd answers on a Unix socket with names of operations: idempotency keys that
never repeat. It takes them from the TPM's counter, which it defines if it is
missing and the TPM's owner lets it.

By default the socket is /run/opmint/opmint.sock and the state folder
/var/lib/opmint for root; for others opmint/opmint.sock in $XDG_RUNTIME_DIR, and
opmint in $XDG_STATE_HOME, else in ~/.local/state. OPMINT_SOCKET, too, says where
the socket is. A file with an authorization value has 1 to 64 bytes, without one
newline at its end, and is not readable by everybody; it may be a pipe.

Exit codes: 0 stopped by a signal, 1 error, 2 usage, 3 refused, 75 the TPM is busy
or another daemon runs.`,
		Example: `  opmintd --assume physical
  opmintd --assume physical --tpm unix:/run/swtpm/sock --state ./state --socket ./opmint.sock`,
		Args:              noArguments,
		Version:           thisVersion(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context()) },
	}
	cmd.SetVersionTemplate("opmintd {{.Version}}\n")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	o.register(cmd)
	return cmd
}

func (o *options) register(cmd *cobra.Command) {
	o.assume = choice{of: []string{"physical", "virtual"}}
	o.nvIndex = tpm.DefaultIndex
	o.logFormat = choice{"text", []string{"text", "json"}}
	o.logLevel = choice{"info", []string{"debug", "info", "warn", "error"}}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(&o.socket, "socket", "where to listen")
	flags.Var(&o.state, "state", "the state folder")
	flags.StringVar(&o.tpm, "tpm", tpm.Auto, "auto, a device, unix:PATH or tcp:HOST:PORT")
	flags.Var(&o.assume, "assume", "what the TPM is taken for: "+o.assume.Type())
	flags.Var(&o.nvIndex, "nv-index", "where in the TPM the counter is")
	flags.Var(&o.ownerFile, "owner-auth-file", "file with the authorization value of the TPM's owner")
	flags.Var(&o.endorsementFile, "endorsement-auth-file", "file with that of the endorsement hierarchy")
	flags.Var(&o.namesPerEpoch, "names-per-epoch",
		"claim a new epoch, a write to the TPM, after that many names, 1 to 2^40; other bounds on claims do not hold then")
	flags.Var(&o.logFormat, "log-format", "of the log on standard error: "+o.logFormat.Type())
	flags.Var(&o.logLevel, "log-level", o.logLevel.Type())
}

// refusal says why no names can be minted as it was asked for; nil if they can.
func (o *options) refusal() error {
	switch {
	case o.assume.value == "":
		return fmt.Errorf("%w: names of class h need a physical TPM, and this version cannot tell whether %s is one: "+
			"if no snapshot or image of a machine can take it back in time, say --assume physical", errRefused, o.tpm)
	case o.assume.value == "virtual":
		return fmt.Errorf("%w: a virtual TPM is taken back in time with its machine, "+
			"and this version cannot mint safely beside one", errRefused)
	case o.tpm == "none":
		return &usageError{errors.New("--tpm none: then there is no physical TPM to assume")}
	}
	return nil
}

// places returns where the socket and the state folder are.
func (o *options) places() (socket, state string, err error) {
	socket, state = string(o.socket), string(o.state)
	if socket == "" {
		socket, err = api.DaemonSocket()
	}
	if err == nil && state == "" {
		state, err = api.StateFolder()
	}
	return socket, state, err
}

func (o *options) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	// All choices are levels.
	_ = level.UnmarshalText([]byte(o.logLevel.value))
	h := &slog.HandlerOptions{Level: level}
	if o.logFormat.value == "json" {
		return slog.New(slog.NewJSONHandler(w, h))
	}
	return slog.New(slog.NewTextHandler(w, h))
}

func thisVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return cmp.Or(version, info.Main.Version, "(devel)")
}

// noArguments is cobra.NoArgs, which takes an argument for an unknown command.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{fmt.Errorf("takes no arguments, and got %.40q", args[0])}
	}
	return nil
}

// usageError is a command line that the program does not understand.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }
