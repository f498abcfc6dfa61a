//go:build !manual

// Command opmintd names operations for the programs of a machine: it claims
// numbers from the TPM's counter and its journal, and answers, on a Unix socket,
// with names that never repeat.
//
//	flags → state folder, journal → socket → machine, TPM → claim → names
//
// A start claims one epoch, as its last step: each claim is a write, and a TPM
// survives some 500,000, so whatever can refuse the start does so before. Under
// that epoch 2^40 names are minted at memory speed. However the daemon ends, the
// rest of its epoch is lost and nothing else is; the next start claims another.
//
// What the machine shows, or the operator says, is the class of the names:
//
//	class  TPM                   identity                      epoch
//	h      physical              stays, until it is renewed    the counter's value
//	v      any other             one for each start            above journal and counter
//	j      none, or --tpm none   one for each start            above the journal
//
// A counter that went back is on record, and its names are of class v from then
// on, until it is made anew. So is what [vtpmdetect.Watch] sees while the daemon
// runs: the name that was drawn is dropped, and the next is of another epoch. A
// TPM that is there and cannot be used is an error, never class j.
//
// When the TPM does not answer any more, the daemon goes on in its open epoch, and
// GET /v1/readyz says so. It stops minting and ends when TPM or journal cannot be
// relied on: what a claim or a commit did is not known; the counter was defined
// anew. The next start reads the truth.
//
// SIGTERM and SIGINT end it in order: requests under way are answered; the second of
// them ends it at once. SIGHUP is noted in the log and changes nothing: whatever there
// is to set is set at the start. SIGKILL costs no more than the rest of the epoch.
// Standard error has the log. Programs can rely on the exit codes:
//
//	0   stopped by a signal
//	1   error
//	2   usage
//	3   refused: --assume without a TPM; an NV index that is not opmint's; its secret
//	    lost; a wrong authorization for the TPM; a journal that is lost, damaged or
//	    somebody else's
//	75  try again: another daemon has the state folder or the socket, the TPM is busy
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	syscall.Umask(0o077)
	// Whoever reads the log, or started the daemon, may go away; the names are still needed.
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
