package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/ledger"
)

// operationOptions are what all commands about operations have.
type operationOptions struct {
	json   bool
	client api.Client
}

func newOperationCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "op",
		Short: "Begin, end and look up operations in the receiver's ledger",
		Long: `Begin, end and look up operations in the ledger that opmintd keeps for receivers: a
name has one final state in a SCOPE, so that a retry is answered and never applied
again. A scope is yours, unless its name begins with 'shared.': those are everybody's
who may use the socket.

    begin --> running --> finish --> applied, failed (not applied) or unknown
    its lease runs out --> unknown --> settle --> applied or failed

Exit codes: 3 refused (another payload, expired, not yours, it has ended), 75 busy
(another runs it) or unknown: it may have been applied; find out, and settle it.`,
		Example: `  opmint op begin pay $NAME --payload order-7.json --holder $RANDOM$RANDOM
  opmint op finish pay $NAME applied --holder $HOLDER --fence 1 --body answer.json
  opmint op list pay --state unknown
  opmint op settle pay $NAME failed`,
	}
	cmd.AddCommand(
		newBeginCommand(), newExtendCommand(), newFinishCommand(), newSettleCommand(), newShowCommand(), newListCommand(),
		newAcceptCommand(),
	)
	return cmd
}

// register declares the flags that all commands about operations have.
func (o *operationOptions) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON, as the daemon answers")
	addUIDFlag(cmd, &o.client)
	addSocketFlag(cmd, &o.client)
	cmd.DisableFlagsInUseLine = true
}

// print writes an operation.
func (o *operationOptions) print(w io.Writer, op ledger.Operation) error {
	if o.json {
		return printJSON(w, api.TellOperation(op))
	}
	return printOperation(w, op)
}

// answer returns the function of a command about one operation, which prints what has
// become of it.
func (o *operationOptions) answer(
	do func(ctx context.Context, r ledger.Ref, args []string) (ledger.Operation, error),
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		op, err := do(cmd.Context(), ledger.Ref{Scope: args[0], Name: args[1]}, args[2:])
		if err != nil {
			return daemonProblem(err)
		}
		return o.print(cmd.OutOrStdout(), op)
	}
}

// printOperation writes for people what the ledger knows of an operation.
func printOperation(w io.Writer, op ledger.Operation) error {
	s := &screen{w: w}
	s.line("scope", "%s", op.Ref.Scope)
	s.line("name", "%s", op.Ref.Name)
	s.line("state", "%s", stateText(op))
	if op.Holder != "" {
		s.line("holder", "%s", op.Holder)
		s.line("fence", "%d", op.Fence)
	}
	s.line("uid", "%d", op.UID)
	if !op.Fingerprint.IsZero() {
		s.line("payload", "%s", op.Fingerprint)
	}
	s.line("orphan", "%s", op.Orphan)
	for _, at := range []struct {
		key  string
		time time.Time
	}{{"began", op.Began}, {"lease", op.LeaseExpires}, {"ended", op.Ended}} {
		if !at.time.IsZero() {
			s.line(at.key, "%s", at.time.Format(time.RFC3339))
		}
	}
	if r := op.Result; r != nil {
		body := fmt.Sprintf("%d bytes", len(r.Body))
		if r.BodyOmitted {
			body = "body not kept"
		}
		s.line("result", "status %d, %d headers, %s", r.Status, len(r.Headers), body)
	}
	return s.err
}

// stateText says where an operation stands.
func stateText(op ledger.Operation) string {
	words := []string{string(op.State)}
	for _, also := range []struct {
		is   bool
		word string
	}{{op.Lapsed, "its lease ran out"}, {op.Settled, "settled"}, {op.Forked, "forked: its minter was cloned or rolled back"}} {
		if also.is {
			words = append(words, also.word)
		}
	}
	return strings.Join(words, ", ")
}

// scopeAndName accepts a scope and a name, and more arguments if they have names.
func scopeAndName(more ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		want := append([]string{"a SCOPE", "a NAME"}, more...)
		if len(args) != len(want) {
			return fmt.Errorf("wants %s", strings.Join(want, ", "))
		}
		return nil
	}
}

// addUIDFlag declares the flag of commands about what belongs to a user.
func addUIDFlag(cmd *cobra.Command, client *api.Client) {
	cmd.Flags().Var(&ownerFlag{client}, "uid", "`uid` of the user whose they are, for root (default your own)")
}

// ownerFlag is a flag's value: the user whose is what a client asks for.
type ownerFlag struct{ client *api.Client }

func (o *ownerFlag) String() string {
	if o.client == nil || o.client.Owner == nil {
		return ""
	}
	return strconv.FormatUint(uint64(*o.client.Owner), 10)
}

func (o *ownerFlag) Type() string { return "uid" }

func (o *ownerFlag) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || strconv.FormatUint(n, 10) != text {
		return errors.New("want the number of a user")
	}
	o.client.Owner = new(uint32(n))
	return nil
}
