package main

import (
	"errors"

	"github.com/opmint/opmint/api/server"
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

// exitCode maps an error to an exit code.
func exitCode(err error) int {
	_, misused := errors.AsType[*usageError](err)
	switch {
	case err == nil:
		return exitDone
	case misused, errors.Is(err, tpm.ErrAddress):
		return exitUsage
	case unreliable(err):
		return exitError
	case isOneOf(err, errRefused, tpm.ErrStranger, tpm.ErrAuthLost, tpm.ErrOwnerAuth, tpm.ErrEndorsementAuth):
		return exitRefused
	case errors.Is(err, server.ErrLocked), tpm.Temporary(err):
		return exitTryAgain
	}
	return exitError
}

// unreliable reports whether err says that the counter is not, or may not be,
// what the daemon takes it for: then no name may be minted from it until a new
// start has read what is there.
func unreliable(err error) bool {
	return isOneOf(err, tpm.ErrOutcomeUnknown, tpm.ErrWentBack, tpm.ErrRedefined)
}

func isOneOf(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
