package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/keygen"
)

type semanticOptions struct {
	payload text
	json    bool
}

func newSemanticCommand() *cobra.Command {
	var o semanticOptions
	cmd := &cobra.Command{
		Use:   "semantic FIELD...",
		Short: "Name an operation that is its content",
		Long: `Name an operation that is its content: the same fields have the same name, on every
machine and for ever. Fields are taken byte for byte as given, so 7 and 07 differ,
and "coil 7" as one field is not coil and 7 as two. An empty field counts. With
--payload one more field comes last: the file's SHA-256, as sha256: and 64
hexadecimal digits.

Write -- before the fields if one of them begins with '-'.`,
		Example: `  opmint semantic coil 7 shot 12 step 3
  opmint semantic -- setpoint -5`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.payload != "" {
				return nil
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.payload != "" {
				sum, err := fingerprint(cmd.InOrStdin(), string(o.payload))
				if err != nil {
					return err
				}
				args = append(args, sum.String())
			}
			return semantic(cmd.OutOrStdout(), args, o)
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return misuse(cmd, "%w; write -- before fields if one begins with '-'", flagProblem(err))
	})
	cmd.Flags().Var(&o.payload, "payload", "`file` whose SHA-256 is the last field, or - for standard input")
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
