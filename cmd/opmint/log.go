package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/ledger"
)

// errNotTheLog says that the ledger's log is not what it was.
var errNotTheLog = errors.New("the log does not hold together")

type logOptions struct {
	after          eventNumber
	follow, verify bool
	client         api.Client
	verifier       ledger.Verifier
}

func newLogCommand() *cobra.Command {
	var o logOptions
	cmd := &cobra.Command{
		Use:   "log [--after N] [--follow] [--verify]",
		Short: "Print what has changed in the receiver's ledger",
		Long: `Print what has changed in the ledger, one event a line, as JSON: in your own scopes and
in all that are shared; for root, in everybody's, unless --uid says whose.

Each event has the hash of the one before in its chain. With --verify they are checked:
where one was changed or is missing, that is exit code 3, and it is not printed. What
is older than a checkpoint is dropped in time, so the first event of a chain is taken
as it is. opmintd --rebuild-ledger makes a ledger out of the log and compares it.`,
		Example: `  opmint log --verify >/dev/null
  opmint log --follow --after 1200`,
		Args:                  noArguments,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return daemonProblem(o.print(cmd.Context(), cmd.OutOrStdout()))
		},
	}
	cmd.Flags().Var(&o.after, "after", "only events with a higher `number`")
	cmd.Flags().BoolVar(&o.follow, "follow", false, "wait for more, until it is interrupted")
	cmd.Flags().BoolVar(&o.verify, "verify", false, "check that nothing was changed or is missing")
	addUIDFlag(cmd, &o.client)
	addSocketFlag(cmd, &o.client)
	return cmd
}

// print prints the events that there are, and those that come if they are waited for.
func (o *logOptions) print(ctx context.Context, w io.Writer) error {
	r := api.LogRequest{After: uint64(o.after)}
	if o.follow {
		r.Wait = api.MaxLogWait
	}
	for {
		err := o.client.Log(ctx, r, func(e ledger.Event) error {
			r.After = e.Number
			return o.line(w, e)
		})
		if err != nil || !o.follow {
			return err
		}
	}
}

// line prints an event, once it is verified.
func (o *logOptions) line(w io.Writer, e ledger.Event) error {
	if o.verify {
		if err := o.verifier.Add(e.Line); err != nil {
			return fmt.Errorf("%w: %w", errNotTheLog, err)
		}
	}
	_, err := fmt.Fprintf(w, "%s\n", e.Line)
	return err
}

// eventNumber is a flag's value: the number of an event, or 0.
type eventNumber uint64

func (n *eventNumber) String() string {
	if *n == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(*n), 10)
}

func (n *eventNumber) Type() string { return "number" }

func (n *eventNumber) Set(value string) error {
	parsed, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return errors.New("want the number of an event")
	}
	*n = eventNumber(parsed)
	return nil
}
