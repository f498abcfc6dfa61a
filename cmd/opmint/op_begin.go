package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/opmint/opmint/ledger"
)

// errEnded says that an operation is not to be run, since it has ended.
var errEnded = errors.New("it has ended: do not run it")

type beginOptions struct {
	operationOptions
	holder, payload, fingerprint text
	lease                        retain
	orphan                       string
}

func newBeginCommand() *cobra.Command {
	var o beginOptions
	cmd := &cobra.Command{
		Use:   "begin SCOPE NAME [--holder H] [--payload FILE] [--lease D] [--orphan reject|retry]",
		Short: "Ask whether to run an operation",
		Long: `Ask whether to run the operation NAME. Exit code 0 says: run it, then finish it, with
the holder and the fence that are printed, before the lease ends; or extend that.
Nobody else runs it until then.

Exit code 3 says that it is not to be run: it has ended, and what is printed is what
came of it; or it is expired, or another payload's. Exit code 75: another runs it, or
its outcome is unknown.

ORPHAN says what happens once the lease ran out, for who begins first: with reject the
outcome is unknown until it is settled; with retry, for what is absolute by nature, the
next who asks runs it again.

HOLDER tells this attempt apart from all others; given again, the answer is the same,
so that an answer that was lost does no harm. Without one it is drawn.`,
		Example: `  opmint op begin pay $NAME --payload order-7.json
  opmint op begin coil $(opmint semantic coil 7 shot 12) --orphan retry --lease 5s --json`,
		Args:              scopeAndName(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := o.attempt(cmd)
			if err != nil {
				return err
			}
			return daemonProblem(begin(cmd.Context(), cmd, ledger.Ref{Scope: args[0], Name: args[1]}, a, &o))
		},
	}
	cmd.Flags().Var(&o.holder, "holder", "`text` that tells this attempt apart (default random)")
	cmd.Flags().Var(&o.payload, "payload", "`file` with what is asked for, or - for standard input")
	cmd.Flags().Var(&o.fingerprint, "fingerprint", "`hash` of the payload, as sha256:…, in place of it")
	cmd.Flags().Var(&o.lease, "lease", "`time` until which nobody else runs it, such as 5m (default 30s)")
	cmd.Flags().StringVar(&o.orphan, "orphan", string(ledger.OrphanReject),
		"once its lease ran out: reject, or retry")
	o.register(cmd)
	completeFlag(cmd, "orphan", []string{string(ledger.OrphanReject), string(ledger.OrphanRetry)})
	return cmd
}

// attempt returns what the flags say.
func (o *beginOptions) attempt(cmd *cobra.Command) (a ledger.Attempt, err error) {
	a = ledger.Attempt{Holder: string(o.holder), Lease: time.Duration(o.lease), Orphan: ledger.Orphan(o.orphan)}
	switch {
	case a.Orphan != ledger.OrphanReject && a.Orphan != ledger.OrphanRetry:
		return a, misuse(cmd, "--orphan %.40q: want %s or %s", o.orphan, ledger.OrphanReject, ledger.OrphanRetry)
	case o.payload != "" && o.fingerprint != "":
		return a, misuse(cmd, "--payload and --fingerprint say the same: want one of them")
	case o.fingerprint != "":
		if a.Fingerprint, err = ledger.ParseFingerprint(string(o.fingerprint)); err != nil {
			return a, misuse(cmd, "%w", err)
		}
	case o.payload != "":
		sum, err := fingerprint(cmd.InOrStdin(), string(o.payload))
		if err != nil {
			return a, err
		}
		a.Fingerprint = ledger.Fingerprint(sum)
	}
	if a.Holder == "" {
		a.Holder = rand.Text()
	}
	return a, nil
}

func begin(ctx context.Context, cmd *cobra.Command, r ledger.Ref, a ledger.Attempt, o *beginOptions) error {
	op, err := o.client.Begin(ctx, r, a)
	if err != nil {
		return err
	}
	if err := o.print(cmd.OutOrStdout(), op); err != nil {
		return err
	}
	switch op.State {
	case ledger.Running:
		return nil
	case ledger.Unknown:
		return fmt.Errorf("%w: it has ended so: find out whether it was applied, and settle it", ledger.ErrOutcomeUnknown)
	}
	return fmt.Errorf("%w: %s", errEnded, op.State)
}
