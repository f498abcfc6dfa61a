package main

import (
	"errors"
	"slices"

	"github.com/opmint/opmint/api/server"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/ledger"
	"github.com/opmint/opmint/store"
	"github.com/opmint/opmint/tpm"
)

// The exit codes.
const (
	exitDone     = 0
	exitError    = 1
	exitUsage    = 2
	exitRefused  = 3
	exitTryAgain = 75 // EX_TEMPFAIL of sysexits.h
)

// errRefused says that the daemon will not mint as it was asked to.
var errRefused = errors.New("refused")

// usageError is a command line that the program does not understand.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

// exitCode maps an error to an exit code.
func exitCode(err error) int {
	_, misused := errors.AsType[*usageError](err)
	switch {
	case err == nil:
		return exitDone
	case misused:
		return exitUsage
	case unreliable(err):
		return exitError
	case is(err, errRefused, tpm.ErrStranger, tpm.ErrAuthLost, tpm.ErrOwnerAuth, tpm.ErrEndorsementAuth),
		is(err, store.ErrLost, store.ErrDamaged, store.ErrForeign, store.ErrNewer, ledger.ErrDiffers):
		return exitRefused
	case is(err, server.ErrLocked, server.ErrListening, store.ErrInUse), tpm.Temporary(err):
		return exitTryAgain
	}
	return exitError
}

// unreliable reports whether err says that the counter or the journal is not, or
// may not be, what the daemon takes it for: no epoch may be claimed until another
// start has read what is there.
func unreliable(err error) bool {
	return is(err, tpm.ErrOutcomeUnknown, tpm.ErrRedefined, keygen.ErrWentBack, store.ErrOutcomeUnknown, store.ErrStopped)
}

// is reports whether err is any of the targets.
func is(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}
