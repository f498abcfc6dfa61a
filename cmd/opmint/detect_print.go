package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/tabwriter"

	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/vtpmdetect"
)

// printReport writes a report for people: the verdict, why, what was seen, what
// was not, and what root would see.
func printReport(w io.Writer, r vtpmdetect.Report) error {
	var out bytes.Buffer
	v := r.Verdict
	printTable(&out, "", [][]string{
		{"class", string(v.Class) + ": " + promises[keygen.Class(v.Class[0])]},
		{"tpm", string(v.TPM)},
		{"host", string(v.Host)},
	})
	printTable(&out, "Why, the deciding reasons first:", reasonRows(v.Reasons))
	printTable(&out, "Seen:", evidenceRows(r.Evidence))
	notSeen, root, missing := gapRows(r.Gaps)
	printTable(&out, "Not seen:", notSeen)
	printTable(&out, "Root would add:", root)
	if missing > 0 {
		fmt.Fprintf(&out, "\nFiles that other machines have and this one has not: %d; --json lists them.\n", missing)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// printTable writes rows of cells under a title, or nothing if there are none.
// Cells can come from a stranger's report and must not steer the terminal.
func printTable(out *bytes.Buffer, title string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	indent := ""
	if title != "" {
		fmt.Fprintf(out, "\n%s\n", title)
		indent = "  "
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = oneLine(cell)
		}
		fmt.Fprintf(table, "%s%s\n", indent, strings.Join(row, "\t"))
	}
	_ = table.Flush() // a bytes.Buffer takes whatever is written to it
}

func reasonRows(reasons []vtpmdetect.Reason) [][]string {
	var rows [][]string
	for _, r := range reasons {
		rows = append(rows, []string{r.Says, r.Signal, r.Value, r.Why})
	}
	return rows
}

// evidenceRows lists what was observed, by its names in JSON.
func evidenceRows(e vtpmdetect.Evidence) [][]string {
	rows := observed("", reflect.ValueOf(e))
	if e.TPM == nil {
		rows = append([][]string{{"tpm", "none"}}, rows...)
	}
	return rows
}

func observed(path string, object reflect.Value) [][]string {
	var rows [][]string
	for field, value := range object.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		signal := strings.TrimPrefix(path+"."+name, ".")
		if value.IsZero() {
			continue
		}
		if value.Kind() == reflect.Pointer {
			value = value.Elem()
		}
		if value.Kind() == reflect.Struct {
			rows = append(rows, observed(signal, value)...)
			continue
		}
		text := strings.Trim(fmt.Sprint(value), "[]")
		rows = append(rows, []string{signal, cmp.Or(text, `""`)})
	}
	return rows
}

// gapRows divides gaps into those that root would fill and others, and counts
// the files that are missing: no machine has them all.
func gapRows(gaps []vtpmdetect.Gap) (notSeen, root [][]string, missing int) {
	for _, gap := range gaps {
		row := []string{gap.Signal, gap.Path, gap.Why}
		switch {
		case gap.Root:
			root = append(root, row)
		case gap.Why == vtpmdetect.NoSuchFile:
			missing++
		default:
			notSeen = append(notSeen, row)
		}
	}
	return notSeen, root, missing
}
