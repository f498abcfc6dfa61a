package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
)

type mintOptions struct {
	count  nameCount
	format string
	json   bool
	client api.Client
	intentOptions
}

func newMintCommand() *cobra.Command {
	o := mintOptions{count: 1}
	cmd := &cobra.Command{
		Use:   "mint [-n N | --for INTENT] [--format FORMAT]",
		Short: "Take new names from the daemon",
		Long: `Take N new names from the daemon, opmintd, and print them one a line, in a FORMAT
(` + strings.Join(formatNames(), ", ") + `). Nobody else gets them, now or later.

Store a name with the request that it is for before the request is sent, and send
the same name on every retry. Exit code 0 means that all names were printed; when
opmint fails on the way, those that it printed are yours all the same.

` + mintForHelp,
		Example: `  opmint mint
  opmint mint --for 'charge order 7' --payload order-7.json
  opmint mint --for order-7 --retain 48h
  opmint mint --stream coils --for setpoint-17 --json
  opmint mint -n 3 --format uuid7
  opmint mint --json`,
		Args:                  noArguments,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := keygen.ParseFormat(o.format)
			if err != nil {
				return misuse(cmd, "%w", err)
			}
			if err := o.check(cmd); err != nil {
				return misuse(cmd, "%w", err)
			}
			if o.intent != "" {
				return daemonProblem(mintFor(cmd.Context(), cmd, format, &o))
			}
			return daemonProblem(mint(cmd.Context(), cmd.OutOrStdout(), format, &o))
		},
	}
	cmd.Flags().VarP(&o.count, "count", "n", fmt.Sprintf("how many names, 1 to %d", api.MaxNames))
	cmd.Flags().StringVar(&o.format, "format", string(keygen.FormatNative), "format: "+strings.Join(formatNames(), ", "))
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON, as the daemon answers")
	o.register(cmd)
	addSocketFlag(cmd, &o.client)
	completeFlag(cmd, "format", formatNames())
	return cmd
}

func mint(ctx context.Context, w io.Writer, format keygen.Format, o *mintOptions) error {
	if o.json {
		return o.client.Relay(ctx, w, "POST", fmt.Sprintf("/v1/names?count=%d&format=%s", o.count, format))
	}
	return o.client.MintTo(ctx, w, api.MintRequest{Count: int(o.count), Format: format})
}

// nameCount is a flag's value: how many names. Unlike cobra's numbers it has one
// spelling, so that 010 is not 8.
type nameCount int

func (c *nameCount) String() string { return strconv.Itoa(int(*c)) }

func (c *nameCount) Type() string { return "N" }

func (c *nameCount) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > api.MaxNames || strconv.Itoa(n) != text {
		return fmt.Errorf("want a number from 1 to %d", api.MaxNames)
	}
	*c = nameCount(n)
	return nil
}
