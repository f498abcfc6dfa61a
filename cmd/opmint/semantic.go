package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/keygen"
)

type semanticOptions struct {
	json bool
}

func newSemanticCommand() *cobra.Command {
	var o semanticOptions
	cmd := &cobra.Command{
		Use:   "semantic FIELD...",
		Short: "Name an operation that is its content",
		Long: `Name an operation that is its content: the same fields have the same name, on every
machine and for ever. Fields are taken byte for byte as given, so 7 and 07 differ,
and "coil 7" as one field is not coil and 7 as two. An empty field counts.

Write -- before the fields if one of them begins with '-'.`,
		Example: `  opmint semantic coil 7 shot 12 step 3
  opmint semantic -- setpoint -5`,
		Args:                  cobra.MinimumNArgs(1),
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return semantic(cmd.OutOrStdout(), args, o)
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return misuse(cmd, "%w; write -- before fields if one begins with '-'", flagProblem(err))
	})
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON, as inspect does")
	return cmd
}

func semantic(w io.Writer, fields []string, o semanticOptions) error {
	n, err := keygen.Semantic(fields...)
	if err != nil {
		return err
	}
	return printName(w, n, o.json)
}
