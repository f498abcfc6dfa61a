package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/ledger"
	"github.com/opmint/opmint/tpm"
	"github.com/opmint/opmint/vtpmdetect"
)

// The exit codes.
const (
	exitDone     = 0
	exitError    = 1
	exitUsage    = 2
	exitRefused  = 3
	exitTryAgain = 75 // EX_TEMPFAIL of sysexits.h
)

// run executes the command line args and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := &checkedWriter{w: stdout}
	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(stderr)
	refuseMisuse(root)
	cmd, err := commandFirst(root, args)
	if err == nil {
		cmd, err = root.ExecuteC()
	}
	if err == nil {
		err = out.err
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %s\n", cmd.CommandPath(), oneLine(err.Error()))
	}
	return exitCode(err)
}

// exitCode maps an error to an exit code.
func exitCode(err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage):
		return exitUsage
	case isRefusal(err):
		return exitRefused
	case isTemporary(err):
		return exitTryAgain
	}
	return exitError
}

// isRefusal reports whether the same will be refused again.
func isRefusal(err error) bool {
	return is(err, keygen.ErrInvalid, vtpmdetect.ErrNotEvidence,
		api.ErrBadRequest, api.ErrForbidden, api.ErrNotFound, api.ErrMethodNotAllowed, api.ErrTooLarge,
		api.ErrExpired, api.ErrFingerprintMismatch, ledger.ErrInvalid, ledger.ErrFenced, errEnded, errNotTheLog,
		tpm.ErrStranger, tpm.ErrAuthLost, tpm.ErrOwnerAuth, tpm.ErrEndorsementAuth)
}

// isTemporary reports whether trying again may help.
func isTemporary(err error) bool {
	return tpm.Temporary(err) || is(err, api.ErrNoDaemon, api.ErrUnanswered, api.ErrUnavailable, api.ErrOverloaded,
		ledger.ErrInProgress, ledger.ErrOutcomeUnknown, ledger.ErrUnavailable)
}

// is reports whether err is any of the targets.
func is(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// checkedWriter remembers the first error of w, since not all that write help
// and completions report theirs.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

// maxErrorLine bounds the text of an error, in characters.
const maxErrorLine = 512

// printable escapes what would break a line of a terminal or steer it.
func printable(text string) string {
	var line strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			line.WriteRune(r)
		} else {
			line.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return line.String()
}

// oneLine is printable, and leaves out the middle of a long text, whose end says what to do: arguments are quoted
// back to the user, and are not always the user's.
func oneLine(text string) string {
	line := []rune(printable(text))
	if len(line) > maxErrorLine {
		line = slices.Replace(line, maxErrorLine/2, len(line)-maxErrorLine/2+1, '…')
	}
	return string(line)
}
