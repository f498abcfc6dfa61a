package main

import (
	"io"

	"github.com/spf13/cobra"
)

type childOptions struct {
	json bool
}

func newChildCommand() *cobra.Command {
	var o childOptions
	cmd := &cobra.Command{
		Use:   "child NAME LABEL",
		Short: "Name a sub-operation of an operation, such as its compensation",
		Long: `Name a sub-operation of the operation NAME: the same on every retry, and without a
daemon. LABEL is 1 to 32 characters of a-z, 0-9 and '-'. Children nest; the whole
name has at most 128 characters.`,
		Example: `  opmint child h1-emhwdgg60rf5x9vn4a-00000001-00000000-r4trds3k1d7z9ygzca undo
  opmint child h1-emhwdgg60rf5x9vn4a-00000001-00000000-r4trds3k1d7z9ygzca_undo step-2`,
		Args:                  cobra.ExactArgs(2),
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return child(cmd.OutOrStdout(), args[0], args[1], o)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON, as inspect does")
	return cmd
}

func child(w io.Writer, parent, label string, o childOptions) error {
	n, err := parseName("NAME: ", parent)
	if err != nil {
		return err
	}
	if n, err = n.Child(label); err != nil {
		return err
	}
	return printName(w, n, o.json)
}
