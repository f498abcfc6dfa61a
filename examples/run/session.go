package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/opmint/opmint/api"
)

// session is what is typed once a daemon is there, in the project's folder, where
// OPMINT_SOCKET is set. The README has the same lines.
var session = []string{
	"bin/opmint mint",
	"bin/opmint mint -n 3 --format uuid",
	"curl -s --unix-socket $OPMINT_SOCKET -X POST http://opmint/v1/names",
	"bin/opmint inspect $(bin/opmint mint)",
	"bin/opmint status",
}

const setSocket = "export " + api.SocketVariable + "=" + socketLink

// show types the session and says how to go on.
func show(ctx context.Context, out io.Writer, addr string) error {
	fmt.Fprintf(out, "swtpm, a software TPM, is running at %s, and bin/opmintd is minting from it.\n"+
		"Their state and logs are in %s.", addr, home)
	if _, err := os.Stat("/dev/tpmrm0"); err == nil {
		fmt.Fprint(out, " This machine's own TPM, /dev/tpmrm0, is left alone.")
	}
	fmt.Fprint(out, "\nThe daemon sees that it is no chip, so the names are of class v.\n\n")
	fmt.Fprintf(out, "$ %s\n", setSocket)
	for _, line := range session {
		fmt.Fprintf(out, "$ %s\n", line)
		cmd := exec.CommandContext(ctx, "sh", "-c", line)
		cmd.Env = append(os.Environ(), api.SocketVariable+"="+socketLink)
		cmd.Stdout, cmd.Stderr = out, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\nGo on in another terminal, in the folder %s:\n\n  %s\n  bin/opmint mint\n\n"+
		"Ctrl-C stops both. The next 'make run' has the same TPM and the next epoch.\n", dir, setSocket)
	return err
}
