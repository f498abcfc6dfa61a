package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/tpm"
	"github.com/opmint/opmint/vtpmdetect"
)

type detectOptions struct {
	tpm      string
	evidence pathFlag
	json     bool
}

func newDetectCommand() *cobra.Command {
	var o detectOptions
	cmd := &cobra.Command{
		Use:   "detect [--tpm ADDR | --evidence FILE]",
		Short: "Tell whether the TPM is physical or can be rolled back, and why",
		Long: `Tell whether the TPM is physical, virtual, shared or unknown, and so in which class
opmintd would mint on this machine; for what reasons; what was seen; and what could
not be seen. It needs no daemon and changes nothing, in the TPM neither. Without root
it sees less, and says what root would add.

ADDR is a device file, unix:PATH or tcp:HOST:PORT; without it, the machine's own TPM
is looked for.

What --json prints can be saved and judged anywhere: --evidence reads it, or bare
evidence, from FILE, or from standard input if that is -. Fields that this version
does not know are named and ignored.`,
		Example: `  opmint detect
  opmint detect --json > report.json
  opmint detect --evidence - < report.json`,
		Args:                  cobra.NoArgs,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := o.report(cmd)
			if err != nil {
				return err
			}
			return detect(cmd.OutOrStdout(), report, o)
		},
	}
	cmd.Flags().StringVar(&o.tpm, "tpm", tpm.Auto, "address of the TPM")
	cmd.Flags().Var(&o.evidence, "evidence", "judge the report in this file, not this machine")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON, which --evidence reads")
	completeFlag(cmd, "tpm", []string{tpm.Auto, "/dev/tpmrm0", "unix:", "tcp:"})
	return cmd
}

// report returns the report that cmd's flags ask for.
func (o detectOptions) report(cmd *cobra.Command) (vtpmdetect.Report, error) {
	if o.evidence == "" {
		return o.examine(cmd)
	}
	if cmd.Flags().Changed("tpm") {
		return vtpmdetect.Report{}, misuse(cmd, "give either --tpm ADDR or --evidence FILE")
	}
	name, data, err := o.readEvidence(cmd.InOrStdin())
	if err != nil {
		return vtpmdetect.Report{}, err
	}
	report, ignored, err := vtpmdetect.ParseReport(data)
	if err != nil {
		return vtpmdetect.Report{}, fmt.Errorf("%s: %w", name, err)
	}
	if len(ignored) > 0 {
		cmd.PrintErrln(oneLine(fmt.Sprintf("%s: %s: ignored what this version does not know: %s",
			cmd.CommandPath(), name, strings.Join(ignored, ", "))))
	}
	return report, nil
}

// readEvidence reads no more of the file than shows that it is too long.
func (o detectOptions) readEvidence(stdin io.Reader) (name string, data []byte, err error) {
	name, in := "standard input", stdin
	if o.evidence != "-" {
		file, err := os.Open(string(o.evidence))
		if err != nil {
			return "", nil, fmt.Errorf("read evidence: %w", err)
		}
		defer file.Close()
		name, in = file.Name(), file
	}
	data, err = io.ReadAll(io.LimitReader(in, vtpmdetect.MaxReport+1))
	if err != nil {
		return "", nil, fmt.Errorf("read evidence: %w", err)
	}
	return name, data, nil
}

// examine looks at this machine. A TPM that is there and cannot be used is part
// of what is seen; a TPM that was asked for by address and is not there is an
// error.
func (o detectOptions) examine(cmd *cobra.Command) (vtpmdetect.Report, error) {
	opened, err := askTPM(cmd.Context(), o.tpm)
	switch {
	case errors.Is(err, tpm.ErrAddress):
		return vtpmdetect.Report{}, misuse(cmd, "%w", err)
	case err != nil:
		return vtpmdetect.Report{}, err
	}
	machine := vtpmdetect.LocalMachine()
	machine.TPM = opened
	return vtpmdetect.Examine(machine), nil
}

// askTPM asks the TPM at addr what there is to know of it; nil is that the
// machine has none.
func askTPM(ctx context.Context, addr string) (*vtpmdetect.OpenedTPM, error) {
	device, err := tpm.Open(addr)
	switch {
	case errors.Is(err, tpm.ErrNoTPM):
		return nil, nil
	case err != nil && (addr == tpm.Auto || errors.Is(err, fs.ErrPermission)):
		return &vtpmdetect.OpenedTPM{Address: addr, Err: err}, nil
	case err != nil:
		return nil, err
	}
	opened := vtpmdetect.Ask(ctx, device)
	if addr != tpm.Auto && errors.Is(opened.Err, fs.ErrNotExist) {
		return nil, opened.Err
	}
	return opened, device.Close()
}

func detect(w io.Writer, r vtpmdetect.Report, o detectOptions) error {
	if o.json {
		return printJSON(w, r)
	}
	return printReport(w, r)
}
