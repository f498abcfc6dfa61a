package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/keygen"
)

type renderOptions struct {
	as   string
	fit  string
	json bool
}

func newRenderCommand() *cobra.Command {
	var o renderOptions
	cmd := &cobra.Command{
		Use:   "render NAME --as FORMAT | --fit RECEIVER",
		Short: "Write a name as a receiver wants it",
		Long: `Write a name as a receiver wants it: in a FORMAT (` + strings.Join(formatNames(), ", ") + `),
or in the first of the formats that RECEIVER accepts for this name; 'opmint
receivers' lists them. A rendering is the same on every retry. A receiver sees two
renderings of one name as two keys: choose one and keep to it.`,
		Example: `  opmint render h1-emhwdgg60rf5x9vn4a-00000001-00000000-r4trds3k1d7z9ygzca --as uuid7
  opmint render h1-emhwdgg60rf5x9vn4a-00000001-00000000-r4trds3k1d7z9ygzca --fit square`,
		Args:                  cobra.ExactArgs(1),
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			choose, err := o.chooser(cmd)
			if err != nil {
				return misuse(cmd, "%w", err)
			}
			return render(cmd.OutOrStdout(), args[0], choose, o)
		},
	}
	cmd.Flags().StringVar(&o.as, "as", "", "format: "+strings.Join(formatNames(), ", "))
	cmd.Flags().StringVar(&o.fit, "fit", "", "ID of the receiver that decides the format")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON, with the format that was chosen")
	completeFlag(cmd, "as", formatNames())
	completeFlag(cmd, "fit", receiverCompletions())
	return cmd
}

// completeFlag completes the values of a flag. Registering fails only for a flag
// that cmd does not have.
func completeFlag(cmd *cobra.Command, name string, values []string) {
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

func formatNames() []string {
	var names []string
	for _, f := range keygen.Formats() {
		names = append(names, string(f))
	}
	return names
}

// chooser returns the choice of a format that cmd's flags ask for. An empty flag
// is one that was given, perhaps from a variable that is not set.
func (o renderOptions) chooser(cmd *cobra.Command) (func(keygen.Name) (keygen.Format, error), error) {
	as, fit := cmd.Flags().Changed("as"), cmd.Flags().Changed("fit")
	switch {
	case as == fit:
		return nil, errors.New("give either --as FORMAT or --fit RECEIVER")
	case as:
		f, err := keygen.ParseFormat(o.as)
		return func(keygen.Name) (keygen.Format, error) { return f, nil }, err
	}
	r, err := keygen.FindReceiver(o.fit)
	if err != nil {
		return nil, fmt.Errorf("%w; 'opmint receivers' lists them", err)
	}
	return r.Fit, nil
}

func render(w io.Writer, text string, choose func(keygen.Name) (keygen.Format, error), o renderOptions) error {
	n, err := parseName("", text)
	if err != nil {
		return err
	}
	f, err := choose(n)
	if err != nil {
		return err
	}
	rendered, err := n.Render(f)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(w, rendering{Name: n, Receiver: o.fit, Format: f, Text: rendered})
	}
	_, err = fmt.Fprintln(w, rendered)
	return err
}

// rendering is the result of render as JSON.
type rendering struct {
	Name     keygen.Name   `json:"name"`
	Receiver string        `json:"receiver,omitempty"`
	Format   keygen.Format `json:"format"`
	Text     string        `json:"text"`
}
