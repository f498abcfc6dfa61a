package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/api"
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
of it is printed all the same, on standard output. What is wrong with the machine, and
what to do about it, says opmint doctor.

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
		return fmt.Sprintf("no: %v; opmint doctor says what to do", refusal)
	case ready.Warning != "":
		return "yes, but: " + ready.Warning + "; opmint doctor says what to do"
	}
	return "yes: it can mint, and claim another epoch"
}
