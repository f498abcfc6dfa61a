package main

import (
	"github.com/spf13/cobra"

	"github.com/opmint/opmint/api"
)

// newRootCommand returns the program with all its commands.
func newRootCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "opmint",
		Short: "Names for operations: idempotency keys that never repeat",
		Long: `opmint names operations. A program that is about to call a remote service takes a
name (an idempotency key), stores it with the request, and sends the same name on
every retry.

    h1-emhwdgg60rf5x9vn4a-00000001-00000000-r4trds3k1d7z9ygzca
    |  identity           epoch    seq      tag             check
    class, version

Results go to standard output, all else to standard error. Exit codes: 0 done,
1 error, 2 usage, 3 refused (such as an invalid name), 75 busy, unknown or no daemon:
try again.`,
		Example: `  opmint mint
  opmint semantic coil 7 shot 12
  opmint inspect h1-emhwdgg60rf5x9vn4a-00000001-00000000-r4trds3k1d7z9ygzca
  opmint render h1-emhwdgg60rf5x9vn4a-00000001-00000000-r4trds3k1d7z9ygzca --fit square`,
		Version:       api.ThisBuild().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cmd.SetVersionTemplate("opmint {{.Version}}\n")
	cmd.AddCommand(
		newMintCommand(),
		newOperationCommand(),
		newLogCommand(),
		newStatusCommand(),
		newDoctorCommand(),
		newInspectCommand(),
		newChildCommand(),
		newSemanticCommand(),
		newRenderCommand(),
		newReceiversCommand(),
		newDetectCommand(),
		newProvisionCommand(),
		newVersionCommand(),
	)
	return cmd
}
