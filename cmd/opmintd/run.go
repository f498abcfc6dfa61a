package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
)

// run executes the command line args and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	log := slog.New(slog.DiscardHandler)
	cmd := newCommand(func(ctx context.Context, o *options) error {
		log = o.logger(stderr)
		if o.rebuildLedger != "" {
			return o.rebuild(ctx, stdout)
		}
		return runDaemon(ctx, o, log)
	})
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	code := exitCode(err)
	switch code {
	case exitDone:
	case exitUsage:
		fmt.Fprintf(stderr, "opmintd: %v; see 'opmintd --help'\n", err)
	default:
		log.Error("ended", "error", err, "exit_code", code)
	}
	return code
}
