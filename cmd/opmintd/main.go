// Command opmintd names operations for the programs of a machine: it claims
// numbers from the TPM's counter and answers, on a Unix socket, with names that
// never repeat.
//
//	flags → state folder → socket → TPM → claim → names
//
// A start claims one epoch, as its last step: each write wears the TPM a little,
// so whatever can refuse the start does so before. Under that epoch 2^40 names
// are minted at memory speed. When the daemon ends, however it ends, the rest of
// the epoch is lost and nothing else is; the next start claims another.
//
// The daemon goes on in its open epoch when the TPM does not answer any more, and
// GET /v1/readyz says so. It stops minting and ends if what the TPM says cannot
// be relied on: the outcome of a claim that stays unknown, a counter that went
// back or was defined anew. Its next start reads the truth.
//
// SIGTERM and SIGINT end it in order: requests under way are answered. Programs
// can rely on the exit codes:
//
//	0   stopped by a signal
//	1   error
//	2   usage
//	3   refused: class not given, an NV index that is not opmint's, a secret that
//	    is lost, a wrong authorization
//	75  busy or unknown: another daemon has the state folder or the socket, or the
//	    TPM is busy
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

func main() {
	syscall.Umask(0o077)
	// Whoever reads the log may go away; names are still needed.
	signal.Ignore(syscall.SIGPIPE)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run executes the command line args and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	log := slog.New(slog.NewTextHandler(stderr, nil))
	cmd := newCommand(&o, func(ctx context.Context) error {
		log = o.logger(stderr)
		return o.serve(ctx, log)
	})
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	code := exitCode(err)
	switch {
	case code == exitUsage:
		fmt.Fprintf(stderr, "opmintd: %v; see 'opmintd --help'\n", err)
	case err != nil:
		log.Error("ended", "error", err, "exit", code)
	}
	return code
}
