package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

type statusOptions struct {
	json   bool
	client api.Client
}

func newStatusCommand() *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show whose names the daemon mints, what they promise, and whether it can mint",
		Long: `Show whose names the daemon mints, on what their promise rests, and whether it can
mint now. A daemon that cannot is exit code 75, with the reason; what could be learned
of it is printed all the same, on standard output.

With --json it is the daemon's answer to GET /v1/identity; what may keep it from
minting stands on standard error.`,
		Example: `  opmint status
  opmint status --json`,
		Args:                  noArguments,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return daemonProblem(status(cmd, &o))
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON, as the daemon answers")
	addSocketFlag(cmd, &o.client)
	return cmd
}

func status(cmd *cobra.Command, o *statusOptions) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	answer := askReady(ctx, &o.client)
	if o.json {
		if err := o.client.Relay(ctx, out, "GET", "/v1/identity"); err != nil {
			return err
		}
		ready, err := answer()
		if err == nil && ready.Warning != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: warning: %s\n", cmd.CommandPath(), oneLine(ready.Warning))
		}
		return err
	}
	health, err := o.client.Health(ctx)
	if err != nil {
		return err
	}
	identity, err := o.client.Identity(ctx)
	if err != nil {
		return err
	}
	ready, notReady := answer()
	if notReady != nil && !errors.Is(notReady, api.ErrUnavailable) {
		return notReady
	}
	socket := cmp.Or(o.client.Socket, api.ClientSocket())
	if err := printStatus(out, socket, health, identity, readiness(ready, notReady)); err != nil {
		return err
	}
	return notReady
}

// askReady asks whether the daemon can mint, and returns what waits for the answer. A
// TPM that does not answer delays this as it delays the identity, so both are asked
// for at once.
func askReady(ctx context.Context, client *api.Client) func() (*api.Readiness, error) {
	var ready *api.Readiness
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		ready, err = client.Ready(ctx)
	}()
	return func() (*api.Readiness, error) {
		<-done
		return ready, err
	}
}

// readiness says whether the daemon can mint, by its answer or its refusal.
func readiness(ready *api.Readiness, refusal error) string {
	switch {
	case refusal != nil:
		return fmt.Sprintf("no: %v", refusal)
	case ready.Warning != "":
		return "yes, but: " + ready.Warning
	}
	return "yes: it can mint, and claim another epoch"
}

// printStatus writes for people how the daemon is.
func printStatus(w io.Writer, socket string, health *api.Health, id *api.Identity, ready string) error {
	var err error
	line := func(key string, format string, values ...any) {
		if err == nil {
			_, err = fmt.Fprintf(w, "%-9s %s\n", key, oneLine(fmt.Sprintf(format, values...)))
		}
	}
	line("daemon", "opmintd %s at %s, API level %d", health.Version, socket, health.API)
	line("class", "%v: %s", id.Class, promises[id.Class])
	if id.Assumed {
		line("assumed", "by the operator's word, not by what opmintd saw of the machine")
	}
	if v := id.Verdict; len(v.Reasons) > 0 {
		line("machine", "TPM %s, host %s: %s", v.TPM, v.Host, v.Reasons[0].Why)
	}
	line("identity", "%v: whose names these are", id.Identity)
	line("epoch", "%d: the number of this start or renewal, under which names are minted", id.Epoch)
	switch {
	case id.Counter != nil:
		line("counter", "%d: what the TPM's NV counter shows now", *id.Counter)
	case id.Class == keygen.ClassJ:
		line("counter", "none: there is no TPM")
	default:
		line("counter", "unknown: the TPM's NV counter cannot be read now")
	}
	if id.FreshRandomness {
		line("random", "fresh: a restored memory snapshot does not repeat it")
	} else {
		line("random", "not fresh: without the CPU's generator, a restored memory snapshot can repeat names")
	}
	for _, r := range id.Rollbacks {
		line("rollback", "%s at %s: seen %d, expected %d", r.What, r.Time.Format(time.RFC3339), r.Seen, r.Expected)
	}
	line("ready", "%s", ready)
	return err
}
