package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/tpm"
)

// noTPM is the --tpm that does without one.
const noTPM = "none"

// options is what the command line says.
type options struct {
	socket, state              path   // empty: the default
	tpm                        string // as tpm.Open takes it
	assume                     choice
	nvIndex                    index
	ownerFile, endorsementFile path  // empty: no authorization value
	namesPerEpoch              count // 0: as many as an epoch has
	horizon                    span
	maxIntents, maxStreams     count
	maxRunning, maxBytes       count
	ledgerRestored             bool
	rebuildLedger              path
	logFormat, logLevel        choice
	version, json              bool
}

// newCommand returns the program, which reads its command line and calls run.
func newCommand(run func(context.Context, *options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "opmintd",
		Short: "Mint names of operations that never repeat",
		Long: `opmintd answers on a Unix socket with names of operations: idempotency keys that
never repeat. On a physical TPM they are of class h and come from a counter in it,
which is made at the first start, where the TPM's owner has no authorization value
or it is given. Beside any other TPM they are of class v, and without one of class j:
then they come from a journal, and each start has an identity of its own. What the
TPM is, opmintd sees for itself; --assume is for those who know better.

By default the socket is /run/opmint/opmint.sock and the state folder
/var/lib/opmint for root; for others opmint/opmint.sock in $XDG_RUNTIME_DIR, and
opmint in $XDG_STATE_HOME, else in ~/.local/state. OPMINT_SOCKET, too, says where
the socket is. A file with an authorization value has 1 to 64 bytes, without one
newline at its end, and is not readable by everybody; it may be a pipe.

The log goes to standard error. Exit codes: 0 stopped by a signal, 1 error, 2 usage,
3 refused (an index that is not opmint's, a lost secret, a wrong authorization, a
journal that is lost or damaged), 75 another daemon runs there or the TPM is busy:
try again.`,
		Example: `  opmintd
  opmintd --tpm none
  opmintd --assume physical --tpm unix:/run/swtpm/sock --state ./state --socket ./opmint.sock`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		SilenceErrors:     true,
		SilenceUsage:      true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.version || o.json {
				return printVersion(cmd.OutOrStdout(), &o)
			}
			return run(cmd.Context(), &o)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	o.register(cmd)
	return cmd
}

// register declares the flags.
func (o *options) register(cmd *cobra.Command) {
	o.assume = choice{of: []string{"physical", "virtual"}}
	o.nvIndex = tpm.DefaultIndex
	o.horizon, o.maxIntents, o.maxStreams = defaultHorizon, defaultIntents, defaultStreams
	o.maxRunning, o.maxBytes = defaultRunning, defaultBytes
	o.logFormat = choice{"text", []string{"text", "json"}}
	o.logLevel = choice{"info", []string{"debug", "info", "warn", "error"}}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(&o.socket, "socket", "where to listen")
	flags.Var(&o.state, "state", "the state folder")
	flags.StringVar(&o.tpm, "tpm", tpm.Auto, "auto, none, a device, unix:PATH or tcp:HOST:PORT")
	flags.Var(&o.assume, "assume", "what the TPM is, on your word")
	flags.Var(&o.nvIndex, "nv-index", "where in the TPM the counter is")
	flags.Var(&o.ownerFile, "owner-auth-file", "file, or - for standard input, with the authorization value of the TPM's owner")
	flags.Var(&o.endorsementFile, "endorsement-auth-file", "the same with that of the endorsement hierarchy")
	flags.Var(&o.namesPerEpoch, "names-per-epoch",
		"names under one epoch; each epoch is a write, and then nothing else keeps clients from wearing out the TPM")
	flags.Var(&o.horizon, "horizon", "for how long names are remembered at most, by those who retry and those who receive")
	flags.Var(&o.maxIntents, "max-intents", "intents that a user can have at a time")
	flags.Var(&o.maxStreams, "max-streams", "streams that a user can have at a time")
	flags.Var(&o.maxRunning, "max-running", "operations that a user can have running at a time")
	flags.Var(&o.maxBytes, "max-bytes", "bytes that the ledger keeps for a user")
	flags.BoolVar(&o.ledgerRestored, "ledger-restored", false,
		"the ledger is from a backup: what it has not seen may have been applied, until an operator accepts it")
	flags.Var(&o.rebuildLedger, "rebuild-ledger",
		"make a ledger in this new file out of the log of the one in the state folder, compare them, and do nothing else")
	flags.Var(&o.logFormat, "log-format", "how the log is written")
	flags.Var(&o.logLevel, "log-level", "what the log leaves out is below that")
	flags.BoolVarP(&o.version, "version", "v", false, "print which build this is, and do nothing else")
	flags.BoolVar(&o.json, "json", false, "with --version: print JSON")
	for _, name := range []string{"assume", "log-format", "log-level"} {
		words := flags.Lookup(name).Value.(*choice).of
		// Fails for a flag that does not exist.
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
}

// stateFolder returns where the state folder is.
func (o *options) stateFolder() (string, error) {
	if o.state != "" {
		return string(o.state), nil
	}
	return api.StateFolder()
}

// counterConfig returns which counter to use, and how. It opens the TPM and asks it
// nothing yet; the device is nil if there is none, or none is wanted.
func (o *options) counterConfig(stateDir string) (cfg tpm.CounterConfig, err error) {
	cfg.Index, cfg.StateDir = uint32(o.nvIndex), stateDir
	if o.ownerFile != "" {
		if cfg.OwnerAuth, err = tpm.ReadAuthValue(string(o.ownerFile)); err != nil {
			return cfg, err
		}
	}
	if o.endorsementFile != "" {
		if cfg.EK.Auth, err = tpm.ReadAuthValue(string(o.endorsementFile)); err != nil {
			return cfg, err
		}
	}
	cfg.Device, err = o.device()
	return cfg, err
}

// device opens the TPM, and returns nil if there is none or none is wanted.
func (o *options) device() (*tpm.Device, error) {
	if o.tpm == noTPM {
		if o.assume.value != "" {
			return nil, &usageError{fmt.Errorf("--tpm none leaves no TPM that --assume %s could mean", o.assume.value)}
		}
		return nil, nil
	}
	device, err := tpm.Open(o.tpm)
	switch {
	case errors.Is(err, tpm.ErrAddress):
		return nil, &usageError{err}
	case errors.Is(err, tpm.ErrNoTPM) && o.assume.value != "":
		return nil, fmt.Errorf("%w: --assume %s: %w", errRefused, o.assume.value, err)
	case errors.Is(err, tpm.ErrNoTPM):
		return nil, nil
	}
	return device, err
}

// logger returns the log, which is written to w.
func (o *options) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	// Each of the flag's words is a level.
	_ = level.UnmarshalText([]byte(o.logLevel.value))
	if o.logFormat.value == "json" {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

// printVersion writes which build the program is.
func printVersion(w io.Writer, o *options) error {
	switch {
	case !o.version:
		return &usageError{errors.New("--json is for --version")}
	case o.json:
		return api.ThisBuild().PrintJSON(w)
	}
	return api.ThisBuild().Print(w, "opmintd")
}

// noArguments is cobra.NoArgs, which takes an argument for an unknown command.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{fmt.Errorf("takes no arguments, and there is %.40q", args[0])}
	}
	return nil
}
