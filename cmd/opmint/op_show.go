package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/ledger"
)

func newShowCommand() *cobra.Command {
	var o struct {
		operationOptions
		body bool
	}
	cmd := &cobra.Command{
		Use:   "show SCOPE NAME [--body | --json]",
		Short: "Show what the ledger knows of an operation",
		Long: `Show what the ledger knows of an operation, without any effect on it. With --body it
is the body of its result, byte for byte; there may be none, which is exit code 1.`,
		Example: `  opmint op show pay $NAME
  opmint op show pay $NAME --body`,
		Args:              scopeAndName(),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.body && o.json {
			return misuse(cmd, "--body and --json: want one of them")
		}
		op, err := o.client.Lookup(cmd.Context(), ledger.Ref{Scope: args[0], Name: args[1]})
		switch {
		case err != nil:
			return daemonProblem(err)
		case !o.body:
			return o.print(cmd.OutOrStdout(), op)
		case op.Result == nil || op.Result.BodyOmitted:
			return errors.New("the ledger has no body of it")
		}
		_, err = cmd.OutOrStdout().Write(op.Result.Body)
		return err
	}
	cmd.Flags().BoolVar(&o.body, "body", false, "print the body of its result, and nothing else")
	o.register(cmd)
	return cmd
}

type listOptions struct {
	operationOptions
	state string
	after text
}

func newListCommand() *cobra.Command {
	var o listOptions
	states := []string{string(ledger.Running), string(ledger.Applied), string(ledger.Failed), string(ledger.Unknown)}
	cmd := &cobra.Command{
		Use:   "list SCOPE [--state STATE] [--after NAME]",
		Short: "List the operations of a scope",
		Long: `List all operations of a scope, or those in a STATE (` + strings.Join(states, ", ") + `),
in the order of their names. With --json it is one operation a line.`,
		Example: `  opmint op list pay --state unknown
  opmint op list pay --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("wants a SCOPE")
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.state != "" && !slices.Contains(states, o.state) {
				return misuse(cmd, "--state %.40q: want %s", o.state, strings.Join(states, ", "))
			}
			return daemonProblem(o.list(cmd.Context(), cmd, args[0]))
		},
	}
	cmd.Flags().StringVar(&o.state, "state", "", "only those in this `state`")
	cmd.Flags().Var(&o.after, "after", "only those behind this `name`")
	o.register(cmd)
	completeFlag(cmd, "state", states)
	return cmd
}

// list prints page after page.
func (o *listOptions) list(ctx context.Context, cmd *cobra.Command, scope string) error {
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	options := ledger.ListOptions{State: ledger.State(o.state), After: string(o.after), Limit: ledger.MaxList}
	for {
		page, err := o.client.List(ctx, scope, options)
		if err != nil {
			return err
		}
		for _, op := range page.Operations {
			if o.json {
				err = printJSON(cmd.OutOrStdout(), api.TellOperation(op))
			} else {
				_, err = fmt.Fprintf(table, "%s\t%s\t%s\n", printable(op.Ref.Name), op.Began.Format(time.RFC3339), stateText(op))
			}
			if err != nil {
				return err
			}
		}
		if err := table.Flush(); err != nil {
			return err
		}
		if page.Next == "" {
			return nil
		}
		options.After = page.Next
	}
}

func newAcceptCommand() *cobra.Command {
	var client api.Client
	cmd := &cobra.Command{
		Use:   "accept",
		Short: "Take a ledger that was restored from a backup as it is",
		Long: `Take a ledger that was restored from a backup as it is. It has forgotten what was
applied since; until it is accepted, names that it has not seen are exit code 75, and
from then on they are run. For root and the daemon's own user.`,
		Example:               `  opmint op accept`,
		Args:                  noArguments,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return daemonProblem(client.AcceptLedger(cmd.Context()))
		},
	}
	addSocketFlag(cmd, &client)
	return cmd
}
