package manual

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// edition is what stands in the margins of all pages.
type edition struct{ version, date string }

// pageName is what to type after man, such as opmint-mint.
func pageName(cmd *cobra.Command) string {
	return strings.ReplaceAll(cmd.CommandPath(), " ", "-")
}

// page returns the man page of cmd, in the macros of man(7).
func page(cmd *cobra.Command, e edition) []byte {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	var b bytes.Buffer
	program := cmd.Root().Name()
	section := sections[program]
	fmt.Fprintf(&b, ".TH %s %d %s \"%s %s\" \"%s manual\"\n",
		escape(strings.ToUpper(pageName(cmd))), section, e.date, program, escape(e.version), program)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escape(pageName(cmd)), escape(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n\\fB%s\\fR%s\n", escape(cmd.CommandPath()), escape(arguments(cmd)))
	b.WriteString(".SH DESCRIPTION\n")
	writeText(&b, cmp.Or(cmd.Long, cmd.Short))
	writeCommands(&b, cmd)
	b.WriteString(".SH OPTIONS\n")
	cmd.Flags().VisitAll(func(f *pflag.Flag) { writeFlag(&b, f) })
	if cmd.HasExample() {
		b.WriteString(".SH EXAMPLES\n")
		writeVerbatim(&b, strings.Split(cmd.Example, "\n"))
	}
	b.WriteString(".SH SEE ALSO\n")
	var others []string
	if cmd.HasParent() {
		others = append(others, reference(pageName(cmd.Parent()), section))
	}
	for _, other := range slices.Sorted(maps.Keys(sections)) {
		if other != program {
			others = append(others, reference(other, sections[other]))
		}
	}
	fmt.Fprintf(&b, "%s\n", strings.Join(others, ",\n"))
	return b.Bytes()
}

// arguments returns what stands after the command on a command line.
func arguments(cmd *cobra.Command) string {
	if cmd.HasSubCommands() {
		return " COMMAND"
	}
	rest := strings.TrimPrefix(cmd.UseLine(), cmd.CommandPath())
	if !strings.Contains(rest, "[") {
		rest += " [flags]"
	}
	return rest
}

// writeCommands writes the list of the commands below cmd.
func writeCommands(b *bytes.Buffer, cmd *cobra.Command) {
	if !cmd.HasSubCommands() {
		return
	}
	b.WriteString(".SH COMMANDS\n")
	for _, sub := range cmd.Commands() {
		fmt.Fprintf(b, ".TP\n%s\n%s.\n", reference(pageName(sub), sections[cmd.Root().Name()]), escape(sub.Short))
	}
}

// reference points to a page.
func reference(name string, section int) string {
	return fmt.Sprintf("\\fB%s\\fR(%d)", escape(name), section)
}

// writeFlag writes the entry of a flag: its spellings, its value, what it is for.
func writeFlag(b *bytes.Buffer, f *pflag.Flag) {
	value, usage := pflag.UnquoteUsage(f)
	b.WriteString(".TP\n")
	if f.Shorthand != "" {
		fmt.Fprintf(b, "\\fB\\-%s\\fR, ", escape(f.Shorthand))
	}
	fmt.Fprintf(b, "\\fB\\-\\-%s\\fR", escape(f.Name))
	if value != "" {
		fmt.Fprintf(b, " \\fI%s\\fR", escape(value))
	}
	fmt.Fprintf(b, "\n%s", escape(usage))
	if !slices.Contains([]string{"", "false", "0", "[]"}, f.DefValue) {
		fmt.Fprintf(b, " (default %s)", escape(f.DefValue))
	}
	b.WriteString("\n")
}

// writeText writes paragraphs of text. Lines that are indented stay as they are.
func writeText(b *bytes.Buffer, text string) {
	var indented []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\n")
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
			indented = append(indented, line)
			continue
		}
		writeVerbatim(b, indented)
		indented = nil
		switch {
		case line != "":
			fmt.Fprintf(b, "%s\n", escape(line))
		case !bytes.HasSuffix(b.Bytes(), []byte(".PP\n")):
			b.WriteString(".PP\n")
		}
	}
	writeVerbatim(b, indented)
}

// writeVerbatim writes lines as they are.
func writeVerbatim(b *bytes.Buffer, lines []string) {
	if len(lines) == 0 {
		return
	}
	b.WriteString(".RS 4\n.nf\n")
	for _, line := range lines {
		fmt.Fprintf(b, "%s\n", escape(strings.TrimSpace(line)))
	}
	b.WriteString(".fi\n.RE\n")
}

// escape writes what roff would take for its own, and what it would set
// typographically, so that an example can be copied into a shell.
func escape(text string) string {
	text = strings.NewReplacer(
		`\`, `\e`, `-`, `\-`, `'`, `\(aq`, "`", `\(ga`, `^`, `\(ha`, `~`, `\(ti`, `"`, `\(dq`,
	).Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
