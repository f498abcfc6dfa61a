package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/tpm"
)

type provisionOptions struct {
	tpm      tpmFlags
	newIndex bool
	json     bool
}

func newProvisionCommand() *cobra.Command {
	var o provisionOptions
	cmd := &cobra.Command{
		Use:   "provision",
		Short: "Make the counter in the TPM that names of class h rest on",
		Long: `Make the counter in the TPM that names of class h rest on: an NV index, and in the
state folder the secret that opens it. It says what it will do and does it; what is
there already is left as it is, so a second run does nothing. The daemon does the
same when it starts, where it may: run this first if the TPM's owner has an
authorization value, which the daemon then need not know.

What stands at the index and is not opmint's is never touched, whatever the flags:
choose another place with --nv-index. With --new-index an index of opmint's is
deleted and made anew, because the secret was lost or the TPM was caught going back.
The identity is a new one then; names minted before stay valid.

Run it as the user that the daemon runs as. By default the state folder is
/var/lib/opmint for root, for others opmint in $XDG_STATE_HOME, else in
~/.local/state. A file with an authorization value has 1 to 64 bytes, without one
newline at its end, and is not readable by everybody; it may be a pipe. With - it is
standard input, which another user's program can read as well, as after runuser.

The result goes to standard output, the plan to standard error, or with --json both
in one object to standard output. Exit codes: 3 refused (an index that is not
opmint's, a lost secret, a wrong authorization), 75 the TPM is busy or did not say
what it has done: run it again.`,
		Example: `  opmint provision
  opmint provision --new-index --owner-auth-file /etc/opmint/owner-auth
  opmint provision --tpm unix:/run/swtpm/sock --state /srv/opmint --json`,
		Args:                  cobra.NoArgs,
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := provision(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), o)
			if errors.Is(err, tpm.ErrAddress) {
				return misuse(cmd, "%w", err)
			}
			return err
		},
	}
	o.tpm.register(cmd)
	cmd.Flags().BoolVar(&o.newIndex, "new-index", false, "delete opmint's index, if it is there, and make a new one")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func provision(ctx context.Context, stdout, stderr io.Writer, o provisionOptions) error {
	cfg, err := o.tpm.open()
	if err != nil {
		return err
	}
	defer cfg.Device.Close()
	p, err := planProvision(ctx, cfg, o.newIndex)
	if err != nil {
		return advise(err)
	}
	if !o.json {
		p.describe(stderr)
	}
	if isTerminal(stderr) {
		fmt.Fprintln(stderr, "making the endorsement key; some TPMs take seconds for that")
	}
	result, err := p.run(ctx)
	if err != nil {
		return advise(err)
	}
	if o.json {
		return printJSON(stdout, result)
	}
	return result.print(stdout)
}

// run carries out the plan and says what is there now. The endorsement key comes
// first: without it nothing can be changed.
func (p *provisionPlan) run(ctx context.Context) (*provisioned, error) {
	ek, err := p.cfg.Device.EndorsementKey(ctx, p.cfg.EK)
	if err != nil {
		return nil, err
	}
	result := p.result(ek)
	for _, s := range p.steps {
		if err := s.do(ctx); err != nil {
			return nil, err
		}
		if s.did == nil || s.did() {
			result.Done = append(result.Done, s.name)
		}
	}
	now, err := p.counter.Status(ctx)
	if err != nil {
		return nil, err
	}
	if now.State != tpm.Ready {
		return nil, fmt.Errorf("%w: somebody else has changed the index meanwhile, it is %v now", tpm.ErrBusy, now.State)
	}
	result.Counter, result.Incarnation = now.Value, fmt.Sprintf("%x", now.Incarnation)
	return result, nil
}

// advise adds to an error of the TPM what to do about it.
func advise(err error) error {
	if tpm.Temporary(err) {
		return fmt.Errorf("%w; run it again: it goes on from what is there", err)
	}
	return err
}

// isTerminal reports whether somebody may be watching w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&fs.ModeCharDevice != 0
}

// missingFolder reports whether the state folder is yet to be made. One that the
// daemon would refuse is an error.
func missingFolder(path string) (bool, error) {
	err := api.CheckStateFolder(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}
