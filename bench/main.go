// Command bench measures the project against others, side by side in one run,
// and prints the tables that the README carries.
//
//	go run ./bench                     print the tables
//	go run ./bench -write README.md    put them into the file, too
//
// A table's subjects take turns, round after round, so that what disturbs the
// machine disturbs them all. What counts is the ratio to the table's baseline, which
// travels from machine to machine where nanoseconds do not. It is taken in each
// round; the figures of a subject are the medians of its rounds. A target that is not reached is marked and is
// no failure: on a noisy machine it says little.
//
// In the file, table T stands between the lines <!-- bench:T --> and
// <!-- /bench:T -->; what else stands between them is replaced.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

type options struct {
	file   string
	rounds int
	length time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.file, "write", "", "put the tables into this `file`, between their markers")
	flag.IntVar(&o.rounds, "rounds", 11, "how often each subject is measured, 1 or more")
	flag.DurationVar(&o.length, "length", 100*time.Millisecond, "how long each measurement takes, about")
	flag.Parse()
	if err := run(context.Background(), o, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// run measures all tables, prints them, and puts them into the file.
func run(ctx context.Context, o options, stdout io.Writer) error {
	names, err := namesTable(ctx)
	if err != nil {
		return fmt.Errorf("prepare the table of names: %w", err)
	}
	for _, t := range []*table{names} {
		if err := t.measure(max(1, o.rounds), o.length); err != nil {
			return fmt.Errorf("measure the table of %s: %w", t.id, err)
		}
		text := t.markdown()
		if _, err := fmt.Fprintln(stdout, text); err != nil {
			return err
		}
		if o.file == "" {
			continue
		}
		if err := writeTable(o.file, t.id, text); err != nil {
			return fmt.Errorf("write the table of %s: %w", t.id, err)
		}
	}
	return nil
}
