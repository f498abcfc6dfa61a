package manual

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// program returns a program that has everything that a page can have, and text
// that roff would take for its own.
func program(name string) *cobra.Command {
	root := &cobra.Command{Use: name, Short: "Try \\pages"}
	sub := &cobra.Command{
		Use:     "sub [-n N] FILE",
		Short:   "Do 'it'",
		Long:    "First line,\n.second line.\n\n\n    verbatim --x ~ ^ `\n\nLast, \\fBplain.",
		Example: "  " + name + " sub \"$(date)\"",
		Run:     func(*cobra.Command, []string) {},
	}
	sub.Flags().IntP("count", "n", 1, "how many `N`")
	sub.Flags().Bool("dry-run", false, "do nothing")
	root.AddCommand(sub)
	return root
}

// read returns the text of a page.
func read(t *testing.T, dir, name string) string {
	t.Helper()
	file, err := os.Open(filepath.Join(dir, "man", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPage(t *testing.T) {
	dir := t.TempDir()
	if err := Run([]string{dir, "2026-01-31"}, program("opmint"), "v1.2.3-4-gc0ffee"); err != nil {
		t.Fatal(err)
	}
	const want = `.TH OPMINT\-SUB 1 2026-01-31 "opmint v1.2.3\-4\-gc0ffee" "opmint manual"
.SH NAME
opmint\-sub \- Do \(aqit\(aq
.SH SYNOPSIS
\fBopmint sub\fR [\-n N] FILE [flags]
.SH DESCRIPTION
First line,
\&.second line.
.PP
.RS 4
.nf
verbatim \-\-x \(ti \(ha \(ga
.fi
.RE
.PP
Last, \efBplain.
.SH OPTIONS
.TP
\fB\-n\fR, \fB\-\-count\fR \fIN\fR
how many N (default 1)
.TP
\fB\-\-dry\-run\fR
do nothing
.TP
\fB\-h\fR, \fB\-\-help\fR
help for sub
.SH EXAMPLES
.RS 4
.nf
opmint sub \(dq$(date)\(dq
.fi
.RE
.SH SEE ALSO
\fBopmint\fR(1),
\fBopmintd\fR(8)
`
	if got := read(t, dir, "man1/opmint-sub.1.gz"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := read(t, dir, "man1/opmint.1.gz"); !strings.Contains(got, ".TP\n\\fBopmint\\-sub\\fR(1)\nDo \\(aqit\\(aq.\n") {
		t.Errorf("no list of commands in\n%s", got)
	}
}

// TestSameBytes: what the packages rest on to be reproducible.
func TestSameBytes(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	for _, dir := range []string{one, two} {
		if err := Run([]string{dir, "2026-01-31"}, program("opmintd"), "v1"); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{
		"man/man8/opmintd.8.gz", "man/man8/opmintd-sub.8.gz", "bash-completion/completions/opmintd",
		"fish/vendor_completions.d/opmintd.fish", "zsh/site-functions/_opmintd",
	} {
		a, err := os.ReadFile(filepath.Join(one, name))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(filepath.Join(two, name)); err != nil || !bytes.Equal(a, b) || len(a) == 0 {
			t.Errorf("%s: %d and %d bytes, not the same; %v", name, len(a), len(b), err)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	for _, c := range []struct {
		program, says string
		args          []string
	}{
		{"opmint", "usage", nil},
		{"opmint", "date of the man pages", []string{t.TempDir(), "today"}},
		{"other", `"other"`, []string{t.TempDir(), "2026-01-31"}},
		{"opmint", "write man pages", []string{"/dev/null", "2026-01-31"}},
	} {
		if err := Run(c.args, program(c.program), "v1"); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %q: %v, want %q", c.program, c.args, err, c.says)
		}
	}
}
