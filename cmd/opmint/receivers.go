package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/keygen"
)

type receiversOptions struct {
	json bool
}

func newReceiversCommand() *cobra.Command {
	var o receiversOptions
	cmd := &cobra.Command{
		Use:   "receivers",
		Short: "List the receivers whose rules for keys are known",
		Long: `List the receivers whose rules for idempotency keys are known, for 'opmint render
--fit ID': how many characters a key may have and which, and the formats that are
tried for it, best first. Where a line stands for several services or calls, it has
the strictest rule of them all.`,
		Example: `  opmint receivers
  opmint receivers --json`,
		Args:                  noArguments,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return receivers(cmd.OutOrStdout(), o)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func receivers(w io.Writer, o receiversOptions) error {
	if o.json {
		return printJSON(w, map[string]any{"receivers": keygen.Receivers()})
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tLENGTH\tCHARACTERS\tFORMATS\tRECEIVER")
	for _, r := range keygen.Receivers() {
		characters, name := "any", r.Name
		if r.Characters != "" {
			characters = "[" + r.Characters + "]"
		}
		if r.Note != "" {
			name += " (" + r.Note + ")"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", r.ID, lengths(r), characters, formatList(r), name)
	}
	return table.Flush()
}

// lengths says how many characters a receiver takes.
func lengths(r keygen.Receiver) string {
	switch r.Max {
	case 0:
		return fmt.Sprintf("%d+", r.Min)
	case r.Min:
		return fmt.Sprint(r.Min)
	}
	return fmt.Sprintf("%d-%d", r.Min, r.Max)
}

func formatList(r keygen.Receiver) string {
	var names []string
	for _, f := range r.Formats {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// receiverCompletions returns the IDs of all receivers, described for the shell.
func receiverCompletions() []string {
	var ids []string
	for _, r := range keygen.Receivers() {
		ids = append(ids, cobra.CompletionWithDesc(r.ID, r.Name))
	}
	return ids
}
