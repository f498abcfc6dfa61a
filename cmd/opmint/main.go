//go:build !manual

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

import "os"

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
