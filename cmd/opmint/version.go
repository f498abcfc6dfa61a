package main

import (
	"github.com/spf13/cobra"

	"github.com/opmint/opmint/api"
)

func newVersionCommand() *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the program's version and the API level that it speaks",
		Long: `Show the program's version, the commit that it was built from where that is known,
the level of the daemon's API that it speaks, and the Go version and platform of the
build.`,
		Example: `  opmint version
  opmint version --json`,
		Args:                  noArguments,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if json {
				return api.ThisBuild().PrintJSON(cmd.OutOrStdout())
			}
			return api.ThisBuild().Print(cmd.OutOrStdout(), "opmint")
		},
	}
	cmd.Flags().BoolVar(&json, "json", false, "print JSON")
	return cmd
}
