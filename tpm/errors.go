package tpm

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/google/go-tpm/tpm2"
)

// What can go wrong, for errors.Is. The error's text says more: what was being
// done, to what, and what to do about it.
var (
	// ErrStranger: what stands at the counter's index is not opmint's. It was
	// left untouched.
	ErrStranger = errors.New("the NV index is not opmint's")
	// ErrNotDefined: nothing stands at the counter's index, or an index that
	// was never incremented. Define makes it usable.
	ErrNotDefined = errors.New("the NV index is not defined")
	// ErrTPM1: what answers is a TPM 1.2, which has no such counters.
	ErrTPM1 = errors.New("the answer is that of a TPM 1.2; opmint needs a TPM 2.0")
	// ErrNotStarted: the TPM waits for TPM2_Startup, which the firmware sends.
	ErrNotStarted = errors.New("nobody has started the TPM")
	// ErrRedefined: the index was deleted and defined again since this Counter
	// knew it. Its incarnation is new, so the identity has to be new.
	ErrRedefined = errors.New("the NV index was defined anew")
	// ErrAuthLost: an index of opmint's form is there, but index.auth is
	// missing, damaged or another index's; or the index is another daemon's.
	ErrAuthLost = errors.New("the authorization value of the NV index is lost " +
		"(if another daemon uses this index, choose another with --nv-index, which harms nobody; " +
		"else `opmint provision --new-index`, with owner authorization, deletes it and makes a new one)")
	// ErrBusy: the TPM or the counter was busy for too long. Trying again
	// later may help; no value was owned.
	ErrBusy = errors.New("the TPM is busy")
	// ErrOutcomeUnknown: a command that changes the TPM was sent, and whether
	// it took effect is not known, even after the TPM was opened again.
	ErrOutcomeUnknown = errors.New("the outcome of a TPM command is unknown")
	// ErrWentBack: the counter is lower than it was, so the TPM's state was
	// rolled back. The error is a [*WentBackError].
	ErrWentBack = errors.New("the NV counter went back")
	// ErrOwnerAuth: the owner hierarchy has another authorization value.
	ErrOwnerAuth = errors.New("wrong owner authorization")
	// ErrUnsupportedKey: the TPM cannot make an endorsement key of this template.
	ErrUnsupportedKey = errors.New("the TPM has no such endorsement key")
	// ErrEndorsementAuth: the endorsement hierarchy has another authorization
	// value.
	ErrEndorsementAuth = errors.New("wrong endorsement authorization")
)

// A CommandError tells that a TPM command got no answer that can be trusted:
// none at all, a malformed one, or one whose HMAC is wrong.
type CommandError struct {
	Command string // as TPM 2.0 Part 3 spells it
	Sent    bool   // false only if the TPM cannot have got the command
	Err     error  // what went wrong

	changes bool // the command would have changed something that lasts
}

// Error names the command and says what is known of its outcome.
func (e *CommandError) Error() string {
	switch {
	case !e.Sent:
		return fmt.Sprintf("%s was not sent: %v", e.Command, e.Err)
	case e.changes:
		return fmt.Sprintf("%s was sent, and whether it took effect is not known: %v", e.Command, e.Err)
	}
	return fmt.Sprintf("%s was sent, and got no proper answer: %v", e.Command, e.Err)
}

// Unwrap returns the cause.
func (e *CommandError) Unwrap() error { return e.Err }

// Is tells that e is ErrOutcomeUnknown if it was sent and could have changed
// the TPM for good.
func (e *CommandError) Is(target error) bool {
	return target == ErrOutcomeUnknown && e.Sent && e.changes
}

// A WentBackError tells how far a counter went back.
type WentBackError struct {
	Index        uint32 // the NV index
	Before, Seen uint64 // the highest value read before, and the value read now
}

// Error names the index and both values.
func (e *WentBackError) Error() string {
	return fmt.Sprintf("%v: index 0x%08x shows %d after %d: the TPM's state was restored from an older copy",
		ErrWentBack, e.Index, e.Seen, e.Before)
}

// WentBack returns the least value that the counter must have shown, and the one
// that it showed.
func (e *WentBackError) WentBack() (expected, seen uint64) { return e.Before, e.Seen }

// Is tells that e is ErrWentBack.
func (e *WentBackError) Is(target error) bool { return target == ErrWentBack }

// errUnreachable: there was no connection to the TPM.
var errUnreachable = errors.New("open TPM")

// isLost reports whether err comes from an answer that was lost or garbled, so
// that a new connection may help.
func isLost(err error) bool {
	var lost *CommandError
	return errors.As(err, &lost)
}

// isWrongAuth reports whether the TPM refused an authorization value.
func isWrongAuth(err error) bool {
	return !isLost(err) && (errors.Is(err, tpm2.TPMRCBadAuth) || errors.Is(err, tpm2.TPMRCAuthFail))
}

// isStale reports whether a TPM refused the session of a command. If the command
// was sent again, that shows that it had executed it the first time, whatever it
// answered: the session's nonces have moved on, or it has ended.
func isStale(rc tpm2.TPMRC) bool {
	return rc.Is(tpm2.TPMRCBadAuth) || rc.Is(tpm2.TPMRCAuthFail) || rc.Is(tpm2.TPMRCReferenceS0)
}

// commands names the commands that this package sends.
var commands = map[tpm2.TPMCC]string{
	tpm2.TPMCCCreatePrimary:    "TPM2_CreatePrimary",
	tpm2.TPMCCFlushContext:     "TPM2_FlushContext",
	tpm2.TPMCCGetCapability:    "TPM2_GetCapability",
	tpm2.TPMCCNVDefineSpace:    "TPM2_NV_DefineSpace",
	tpm2.TPMCCNVIncrement:      "TPM2_NV_Increment",
	tpm2.TPMCCNVRead:           "TPM2_NV_Read",
	tpm2.TPMCCNVReadPublic:     "TPM2_NV_ReadPublic",
	tpm2.TPMCCNVUndefineSpace:  "TPM2_NV_UndefineSpace",
	tpm2.TPMCCReadClock:        "TPM2_ReadClock",
	tpm2.TPMCCStartAuthSession: "TPM2_StartAuthSession",
}

// changes reports whether a command changes what outlives the connection.
func changes(cc tpm2.TPMCC) bool {
	return cc == tpm2.TPMCCNVIncrement || cc == tpm2.TPMCCNVDefineSpace || cc == tpm2.TPMCCNVUndefineSpace
}

// advice says what to do about a TPM's error code, for those that an operator
// can do something about.
var advice = []struct {
	code tpm2.TPMRC
	text string
}{
	{tpm2.TPMRCFailure, "the TPM is in failure mode: power the machine off and on"},
	{tpm2.TPMRCLockout, "too many wrong authorizations: wait, or reset the lockout with tpm2_dictionarylockout"},
	{tpm2.TPMRCNVSpace, "no room for another index or counter: remove one that nobody needs with tpm2_nvundefine"},
	{tpm2.TPMRCHierarchy, "the hierarchy is disabled: enable it in the firmware's setup"},
	{tpm2.TPMRCObjectMemory, "other programs have filled its slots: use /dev/tpmrm0, which shares them out"},
	{tpm2.TPMRCSessionMemory, "other programs have filled its slots: use /dev/tpmrm0, which shares them out"},
	{tpm2.TPMRCSessionHandles, "other programs have saved sessions and forgotten them: tpm2_flushcontext --saved-session"},
	{tpm2.TPMRCNVUnavailable, "its NV memory cannot be written at present: try again"},
}

// refused wraps an error code that the TPM answered.
func refused(cc tpm2.TPMCC, rc tpm2.TPMRC) error {
	if rc.Is(tpm2.TPMRCInitialize) {
		return fmt.Errorf("%s: %w: TPM2_Startup should have come from the firmware, or `swtpm --flags startup-clear`: %w",
			commands[cc], ErrNotStarted, rc)
	}
	for _, a := range advice {
		if rc.Is(a.code) {
			return fmt.Errorf("%s: %w (%s)", commands[cc], rc, a.text)
		}
	}
	return fmt.Errorf("%s: %w", commands[cc], rc)
}

// cannotOpen wraps the error of opening a TPM.
func cannotOpen(addr string, err error) error {
	hint := ""
	switch {
	case errors.Is(err, fs.ErrPermission):
		hint = " (run as root, or as a member of the group tss)"
	case errors.Is(err, syscall.EBUSY):
		hint = " (another program has it; /dev/tpmrm0 can be shared)"
	case errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(addr, "/"):
		hint = " (is the TPM enabled in the firmware's setup?)"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET):
		hint = " (nobody answers there: is the software TPM running?)"
	}
	return fmt.Errorf("%w %s: %w%s", errUnreachable, addr, err, hint)
}
