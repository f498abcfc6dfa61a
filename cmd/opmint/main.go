// Command opmint names operations from the command line: it takes new names from
// the daemon, opmintd, and reads and makes those that need no daemon.
//
// Results go to standard output, all else to standard error, where an error is
// one line that says what is wrong and what to do about it. When an error is
// found before the first result, nothing is written to standard output: of
// several names all are checked first. The exceptions are status, which prints what it
// learned of a daemon that cannot mint, and doctor, which prints what is wrong. Programs can rely on the exit codes:
//
//	0  done
//	1  error, such as a result that could not be written, or a failure that doctor found
//	2  usage: unknown command, flag or format; wrong number of arguments; standard
//	   input that is empty or too long
//	3  refused: what was given as a name, a label or evidence is none; the daemon
//	   refuses; an intent has another payload, or was forgotten; an NV index that is not opmint's or whose secret is lost; a wrong
//	   authorization for the TPM
//	75 busy or unknown, no daemon is there, or it went away: try again
//
// Each command is a constructor that declares its flags and a function that does
// the work, in a file named after it. None keeps state in a package variable.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
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

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

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
		api.ErrExpired, api.ErrFingerprintMismatch,
		tpm.ErrStranger, tpm.ErrAuthLost, tpm.ErrOwnerAuth, tpm.ErrEndorsementAuth)
}

// isTemporary reports whether trying again may help.
func isTemporary(err error) bool {
	return tpm.Temporary(err) || is(err, api.ErrNoDaemon, api.ErrUnanswered, api.ErrUnavailable, api.ErrOverloaded)
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
