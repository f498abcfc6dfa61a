// Command bench measures the project against others, side by side in one run,
// and prints the tables that the README carries.
//
//	go run ./bench                     print the tables
//	go run ./bench -write README.md    put them into the file, too
//	go run ./bench -big 10000000       only the tables of a journal with so many intents,
//	                                   and of a ledger with so many records
//
// A table's subjects take turns, round after round, so that what disturbs the
// machine disturbs them all. What counts is the ratio of one to another, which
// travels from machine to machine where nanoseconds do not. It is taken in each
// round; the figures of a subject are the medians of its rounds. A target that is
// not reached is marked and is no failure: on a noisy machine it says little.
//
// The daemon is measured as it is run: opmintd, with a software TPM, against a
// server in Go that sends back what it gets, against uuidd of util-linux, and, for
// what it remembers, against PostgreSQL and Redis.
// Servers are processes of their own; clients write requests that are ready, on
// connections that are kept or made for each.
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
	"os/signal"
	"syscall"
	"time"
)

type options struct {
	file   string
	rounds int
	length time.Duration
	big    uint64
}

func main() {
	var o options
	flag.StringVar(&o.file, "write", "", "put the tables into this `file`, between their markers")
	flag.IntVar(&o.rounds, "rounds", 11, "how often each subject is measured, 1 or more")
	flag.DurationVar(&o.length, "length", 100*time.Millisecond, "how long each measurement takes, about")
	flag.Uint64Var(&o.big, "big", 0, "measure a journal with so many `intents`, a ledger with so many records, and nothing else")
	flag.Parse()
	if flag.Arg(0) == echoCommand {
		fmt.Fprintf(os.Stderr, "bench: %v\n", serveEcho(flag.Arg(1)))
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// run measures all tables, prints them, and puts them into the file.
func run(ctx context.Context, o options, stdout io.Writer) error {
	if o.big > 0 {
		err := measure(ctx, "big", o, stdout, func(ctx context.Context) (*table, func(), error) { return bigTable(ctx, o.big) })
		if err != nil {
			return err
		}
		return measure(ctx, "bigledger", o, stdout, func(ctx context.Context) (*table, func(), error) {
			return bigLedgerTable(ctx, o.big)
		})
	}
	names, err := namesTable(ctx)
	if err != nil {
		return fmt.Errorf("prepare the table of names: %w", err)
	}
	if err := present(ctx, names, o, stdout); err != nil {
		return err
	}
	if err := measure(ctx, "intents", o, stdout, intentsTable); err != nil {
		return err
	}
	if err := measure(ctx, "ledger", o, stdout, ledgerTable); err != nil {
		return err
	}
	daemon, servers, stop, err := daemonTable(ctx)
	if err != nil {
		return fmt.Errorf("prepare the table of the daemon: %w", err)
	}
	defer stop()
	if err := present(ctx, daemon, o, stdout); err != nil {
		return err
	}
	crowd, err := crowdTable(servers, max(1, o.rounds/2))
	if err != nil {
		return fmt.Errorf("measure the daemon among a crowd: %w", err)
	}
	return publish(stdout, o.file, "crowd", crowd)
}

// measure prepares a table, measures it, and stops what it needed.
func measure(
	ctx context.Context, id string, o options, stdout io.Writer, prepare func(context.Context) (*table, func(), error),
) error {
	t, stop, err := prepare(ctx)
	if err != nil {
		return fmt.Errorf("prepare the table of %s: %w", id, err)
	}
	defer stop()
	return present(ctx, t, o, stdout)
}

// present measures a table, prints it, and puts it into the file.
func present(ctx context.Context, t *table, o options, stdout io.Writer) error {
	if err := t.measure(ctx, max(1, o.rounds), o.length); err != nil {
		return fmt.Errorf("measure the table of %s: %w", t.id, err)
	}
	return publish(stdout, o.file, t.id, t.markdown())
}

// publish prints a table, and puts it into the file, if there is one.
func publish(stdout io.Writer, file, id, text string) error {
	if _, err := fmt.Fprintln(stdout, text); err != nil || file == "" {
		return err
	}
	if err := writeTable(file, id, text); err != nil {
		return fmt.Errorf("write the table of %s: %w", id, err)
	}
	return nil
}
