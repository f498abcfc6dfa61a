package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/opmint/opmint/api"
)

// condition is how something is.
type condition string

// The conditions, as they are printed and as they are in JSON.
const (
	conditionOK         condition = "ok"
	conditionWarning    condition = "warning"     // names are minted, and somebody should see to it
	conditionFailure    condition = "failure"     // no names are minted, or secrets are open
	conditionNotChecked condition = "not-checked" // it cannot be known here and now
)

// A finding is what one check found.
type finding struct {
	Check  string    `json:"check"`
	State  condition `json:"state"`
	Says   string    `json:"says"`            // for people, on one line
	Remedy string    `json:"remedy,omitzero"` // a command line for a shell; words in capitals are to be filled in
}

func good(format string, values ...any) finding {
	return finding{State: conditionOK, Says: fmt.Sprintf(format, values...)}
}

func warning(remedy, format string, values ...any) finding {
	return finding{State: conditionWarning, Says: fmt.Sprintf(format, values...), Remedy: remedy}
}

func failure(remedy, format string, values ...any) finding {
	return finding{State: conditionFailure, Says: fmt.Sprintf(format, values...), Remedy: remedy}
}

func notChecked(format string, values ...any) finding {
	return finding{State: conditionNotChecked, Says: fmt.Sprintf(format, values...)}
}

// diagnosis is what doctor found, as JSON.
type diagnosis struct {
	Version string    `json:"version"` // of this program
	Result  condition `json:"result"`  // ok, warning or failure: the worst of the checks
	Checks  []finding `json:"checks"`  // always the same, in the same order
}

// diagnose judges what was seen.
func diagnose(f *facts) *diagnosis {
	d := &diagnosis{Version: api.ThisBuild().Version, Result: conditionOK}
	for _, c := range checks {
		found := c.judge(f)
		found.Check = c.name
		d.Checks = append(d.Checks, found)
	}
	for _, worst := range []condition{conditionFailure, conditionWarning} {
		if d.count(worst) > 0 {
			d.Result = worst
			break
		}
	}
	return d
}

func (d *diagnosis) count(of condition) int {
	n := 0
	for _, f := range d.Checks {
		if f.State == of {
			n++
		}
	}
	return n
}

// err is the error that ends the program, nil unless there are failures.
func (d *diagnosis) err() error {
	switch n := d.count(conditionFailure); n {
	case 0:
		return nil
	case 1:
		return errors.New("1 failure: what to type stands below it")
	default:
		return fmt.Errorf("%d failures: what to type stands below each, begin with the first", n)
	}
}

// print writes the findings for people, each on a line, with the remedy below it.
func (d *diagnosis) print(w io.Writer) error {
	var out bytes.Buffer
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, f := range d.Checks {
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.State, f.Check, oneLine(f.Says))
		if f.Remedy != "" {
			// Whole: half a command is worse than none.
			fmt.Fprintf(table, "\t\t$ %s\n", printable(f.Remedy))
		}
	}
	_ = table.Flush() // a bytes.Buffer takes whatever is written to it
	_, err := w.Write(out.Bytes())
	return err
}
