// Command run shows opmint at work on a machine that need not have a TPM. From
// the project's folder, 'make run' builds what it needs and starts it:
//
//	swtpm ◄── TPM 2.0 ── bin/opmintd ◄── HTTP ── bin/opmint, curl
//
// It starts a software TPM and a daemon, mints names in some ways, printing each
// command before it runs it, and stays until Ctrl-C, so that one can go on in
// another terminal. Then it stops both. They end with it however it ends.
//
// The TPM and the daemon's state are in .cache/run and are there again the next
// time, so each run has the epoch after the one before. The machine's own TPM is
// left alone.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/opmint/opmint/api/server"
	"github.com/opmint/opmint/swtpm"
)

// home is where everything is that stays, in the project's folder.
const home = ".cache/run"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// make does not pass SIGTERM on to its program. Fails for no valid signal.
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0)
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "run: %v\n", err)
		os.Exit(1)
	}
}

// run starts everything, shows it and stops it once ctx is done.
func run(ctx context.Context, out io.Writer) (err error) {
	if err := checkTools(); err != nil {
		return err
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fmt.Errorf("make a folder for the TPM and the daemon's state: %w", err)
	}
	lock, err := server.TakeLock(filepath.Join(home, "lock"))
	if errors.Is(err, server.ErrLocked) {
		return errors.New("another 'make run' is going on in this folder; stop it with Ctrl-C, or use it")
	}
	if err != nil {
		return err
	}
	defer lock.Release()
	tpm, err := swtpm.Start(filepath.Join(home, "tpm"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tpm.Stop()) }()
	err = demonstrate(ctx, out, tpm.Addr())
	if ctx.Err() != nil && err == nil {
		fmt.Fprintln(out, "\nStopped.")
	}
	return err
}

// demonstrate runs a daemon on the TPM at addr, and shows it, until ctx is done.
func demonstrate(ctx context.Context, out io.Writer, addr string) (err error) {
	d, err := startDaemon(ctx, addr)
	if err != nil {
		return interrupted(ctx, err)
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	if err := show(ctx, out, addr); err != nil {
		return interrupted(ctx, err)
	}
	select {
	case <-ctx.Done():
		return nil
	case <-d.ended:
		return d.explain()
	}
}

// interrupted returns err, which is no error if it comes of Ctrl-C.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// checkTools says what is missing, and how to get it.
func checkTools() error {
	for _, program := range []string{"bin/opmint", "bin/opmintd"} {
		if _, err := os.Stat(program); err != nil {
			return fmt.Errorf("no %s here: say 'make run' in the project's folder, which builds it (%w)", program, err)
		}
	}
	if _, err := exec.LookPath("curl"); err != nil {
		return fmt.Errorf("curl is not installed: 'make run' does it on Debian; elsewhere please install it (%w)", err)
	}
	return nil
}
