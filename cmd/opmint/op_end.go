package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/ledger"
)

// holdOptions are the flags by which a holder is known.
type holdOptions struct {
	holder text
	fence  fence
}

func (o *holdOptions) register(cmd *cobra.Command) {
	cmd.Flags().Var(&o.holder, "holder", "`text` that begin was given, or printed")
	cmd.Flags().Var(&o.fence, "fence", "`number` that begin printed")
}

// check says what is wrong with the flags, together.
func (o *holdOptions) check(cmd *cobra.Command) error {
	if o.holder == "" || o.fence == 0 {
		return misuse(cmd, "--holder and --fence are needed: those that begin printed")
	}
	return nil
}

func (o *holdOptions) hold() ledger.Hold {
	return ledger.Hold{Holder: string(o.holder), Fence: uint64(o.fence)}
}

// fence is a flag's value: a number from 1.
type fence uint64

func (f *fence) String() string {
	if *f == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(*f), 10)
}

func (f *fence) Type() string { return "number" }

func (f *fence) Set(value string) error {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil || n == 0 {
		return errors.New("want a number from 1")
	}
	*f = fence(n)
	return nil
}

// resultOptions are the flags that say what came of an operation.
type resultOptions struct {
	status  int
	headers []string
	body    text
}

func (o *resultOptions) register(cmd *cobra.Command) {
	cmd.Flags().IntVar(&o.status, "status", 0, "`number` that those get who repeat the operation, 0 to 999")
	cmd.Flags().StringArrayVar(&o.headers, "header", nil, "`text` that they get, as 'NAME: VALUE'; may be given again")
	cmd.Flags().Var(&o.body, "body", "`file` that they get, or -; over 1 MiB it is not kept")
}

// result returns what the flags say; nil if they say nothing.
func (o *resultOptions) result(cmd *cobra.Command) (*ledger.Result, error) {
	if !cmd.Flags().Changed("status") && o.headers == nil && o.body == "" {
		return nil, nil
	}
	r := &ledger.Result{Status: o.status}
	for _, header := range o.headers {
		name, value, ok := strings.Cut(header, ":")
		if !ok || name == "" {
			return nil, misuse(cmd, "--header %.40q: want NAME: VALUE", header)
		}
		if r.Headers == nil {
			r.Headers = map[string][]string{}
		}
		r.Headers[name] = append(r.Headers[name], strings.TrimSpace(value))
	}
	if o.body == "" {
		return r, nil
	}
	body, err := readBody(cmd.InOrStdin(), string(o.body))
	if err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	r.Body = body
	return r, nil
}

// readBody reads a file, or standard input for -. It reads no more than it takes to
// know that it is too large to be kept.
func readBody(stdin io.Reader, path string) ([]byte, error) {
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		stdin = file
	}
	return io.ReadAll(io.LimitReader(stdin, ledger.MaxBody+1))
}

func newExtendCommand() *cobra.Command {
	var o struct {
		operationOptions
		holdOptions
		lease retain
	}
	cmd := &cobra.Command{
		Use:               "extend SCOPE NAME --holder H --fence N --lease D",
		Short:             "Let the lease of an operation end later",
		Long:              "Let the lease of an operation that is running end that long after now.",
		Example:           `  opmint op extend pay $NAME --holder $HOLDER --fence 1 --lease 5m`,
		Args:              scopeAndName(),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.check(cmd); err != nil {
			return err
		}
		if o.lease == 0 {
			return misuse(cmd, "--lease is needed: for how long from now on")
		}
		return o.answer(func(ctx context.Context, r ledger.Ref, _ []string) (ledger.Operation, error) {
			return o.client.Extend(ctx, r, o.hold(), time.Duration(o.lease))
		})(cmd, args)
	}
	o.holdOptions.register(cmd)
	cmd.Flags().Var(&o.lease, "lease", "`time` from now on, such as 5m")
	o.operationOptions.register(cmd)
	return cmd
}

func newFinishCommand() *cobra.Command {
	var o struct {
		operationOptions
		holdOptions
		resultOptions
	}
	outcomes := []string{string(ledger.Applied), string(ledger.Failed), string(ledger.Unknown)}
	cmd := &cobra.Command{
		Use:   "finish SCOPE NAME applied|failed|unknown --holder H --fence N [--body FILE …]",
		Short: "End an operation",
		Long: `End an operation that you run. 'failed' means: not applied, and it never will be. If
you cannot say that, end it as 'unknown', which stays until somebody settles it.
Given again, the answer is the same.`,
		Example: `  opmint op finish pay $NAME applied --holder $HOLDER --fence 1 --status 201 --body answer.json
  opmint op finish pay $NAME failed --holder $HOLDER --fence 1`,
		Args:              endArguments(outcomes),
		ValidArgsFunction: completeOutcome(outcomes),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.check(cmd); err != nil {
			return err
		}
		result, err := o.result(cmd)
		if err != nil {
			return err
		}
		return o.answer(func(ctx context.Context, r ledger.Ref, rest []string) (ledger.Operation, error) {
			return o.client.Finish(ctx, r, o.hold(), ledger.State(rest[0]), result)
		})(cmd, args)
	}
	o.holdOptions.register(cmd)
	o.resultOptions.register(cmd)
	o.operationOptions.register(cmd)
	return cmd
}

func newSettleCommand() *cobra.Command {
	var o struct {
		operationOptions
		resultOptions
	}
	outcomes := []string{string(ledger.Applied), string(ledger.Failed)}
	cmd := &cobra.Command{
		Use:   "settle SCOPE NAME applied|failed [--body FILE …]",
		Short: "Say what became of an operation whose outcome is unknown",
		Long: `Say what became of an operation whose outcome is unknown, once you have found out:
that is for good. Without a result, that of its end stays, if there was one.`,
		Example: `  opmint op settle pay $NAME applied
  opmint op settle pay $NAME failed --uid 1000`,
		Args:              endArguments(outcomes),
		ValidArgsFunction: completeOutcome(outcomes),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		result, err := o.result(cmd)
		if err != nil {
			return err
		}
		return o.answer(func(ctx context.Context, r ledger.Ref, rest []string) (ledger.Operation, error) {
			return o.client.Settle(ctx, r, ledger.State(rest[0]), result)
		})(cmd, args)
	}
	o.resultOptions.register(cmd)
	o.operationOptions.register(cmd)
	return cmd
}

// endArguments accepts a scope, a name, and one of the outcomes.
func endArguments(outcomes []string) cobra.PositionalArgs {
	count := scopeAndName(strings.Join(outcomes, " or "))
	return func(cmd *cobra.Command, args []string) error {
		if err := count(cmd, args); err != nil {
			return err
		}
		if !slices.Contains(outcomes, args[2]) {
			return fmt.Errorf("outcome %.40q: want %s", args[2], strings.Join(outcomes, " or "))
		}
		return nil
	}
}

// completeOutcome completes the third argument.
func completeOutcome(outcomes []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) != 2 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return outcomes, cobra.ShellCompDirectiveNoFileComp
	}
}
