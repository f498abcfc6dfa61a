package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/keygen"
)

// maxInspectInput bounds the names on standard input, in bytes: some 280,000.
const maxInspectInput = 16 << 20

// promises says in words what the letter of each class stands for.
var promises = map[keygen.Class]string{
	keygen.ClassH: "minted from a physical TPM; does not repeat, whatever becomes of the daemon's state",
	keygen.ClassV: "minted beside a virtual, shared or unknown TPM; after a rollback it does not repeat but for chance",
	keygen.ClassJ: "minted from a journal, without a TPM; after a rollback it does not repeat but for chance",
	keygen.ClassS: "semantic; the same content has the same name",
}

type inspectOptions struct {
	json bool
}

func newInspectCommand() *cobra.Command {
	var o inspectOptions
	cmd := &cobra.Command{
		Use:   "inspect NAME...",
		Short: "Show what names say: class, identity, epoch, seq, tag, labels, renderings",
		Long: `Show what names say: their class and what it promises, whose they are, when they
were minted, their tag, their labels, and the UUIDs that they are rendered as. Two
names of one identity, epoch and seq with two tags are a fork: the minter was cloned
or rolled back.

With - as the only NAME, names are read from standard input, one a line, up to
16 MiB. All names are checked before the first is shown; of a text that is no name
it says what is wrong (truncated, mistyped, in upper case...) and in which column.
With --json each name is one object on one line.`,
		Example: `  opmint inspect h1-emhwdgg60rf5x9vn4a-00000001-00000000-r4trds3k1d7z9ygzca
  opmint inspect --json s1-9b5b4wc2gktwxhk4hvfq2nettx20hcbxgdrcct3wc95jwhwkb2q3a5a
  opmint inspect - < names.txt`,
		Args:                  cobra.MinimumNArgs(1),
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := namesToInspect(cmd, args)
			if err != nil {
				return err
			}
			return inspect(cmd.OutOrStdout(), names, o)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON, one object a name")
	return cmd
}

// namesToInspect returns the names that args are, or that standard input has.
func namesToInspect(cmd *cobra.Command, args []string) ([]keygen.Name, error) {
	switch {
	case !slices.Contains(args, "-"):
		return parseNames(args)
	case len(args) > 1:
		return nil, misuse(cmd, "- reads the names from standard input and stands alone, without other names")
	}
	text, err := readInput(cmd)
	if err != nil {
		return nil, err
	}
	return parseLines(text)
}

func parseNames(args []string) ([]keygen.Name, error) {
	names := make([]keygen.Name, len(args))
	for i, text := range args {
		which := ""
		if len(args) > 1 {
			which = fmt.Sprintf("name %d of %d: ", i+1, len(args))
		}
		var err error
		if names[i], err = parseName(which, text); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// readInput reads standard input, which has something and not too much.
func readInput(cmd *cobra.Command) (string, error) {
	text, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxInspectInput+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read names from standard input: %w", err)
	case len(text) == 0:
		return "", misuse(cmd, "standard input is empty; give names, one a line")
	case len(text) > maxInspectInput:
		return "", misuse(cmd, "standard input: more than %d bytes; give the names in parts", maxInspectInput)
	}
	return string(text), nil
}

// parseLines reads names, one a line.
func parseLines(text string) ([]keygen.Name, error) {
	var names []keygen.Name
	for line := range strings.Lines(text) {
		which := fmt.Sprintf("standard input, line %d: ", len(names)+1)
		n, err := parseName(which, strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		names = append(names, n)
	}
	return names, nil
}

func inspect(w io.Writer, names []keygen.Name, o inspectOptions) error {
	out := bufio.NewWriter(w)
	for i, n := range names {
		if o.json {
			if err := printJSON(out, describe(n)); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			fmt.Fprintln(out)
		}
		if err := printInfo(out, describe(n)); err != nil {
			return err
		}
	}
	return out.Flush()
}

// printInfo writes for people what is known of a name.
func printInfo(w io.Writer, info nameInfo) error {
	line := func(key string, value any) { fmt.Fprintf(w, "%-9s %v\n", key, value) }
	line("name", info.Name)
	line("class", info.Class.String()+": "+promises[info.Class])
	if info.Name.Minted() {
		line("identity", info.Identity)
		line("epoch", *info.Epoch)
		line("seq", *info.Seq)
		line("tag", info.Name.Tag())
	}
	if len(info.Labels) > 0 {
		line("labels", strings.Join(info.Labels, ", "))
	}
	for _, f := range []keygen.Format{keygen.FormatUUID, keygen.FormatUUID4, keygen.FormatUUID7} {
		text, err := info.Name.Render(f)
		if err != nil {
			return err
		}
		line(string(f), text)
	}
	return nil
}
