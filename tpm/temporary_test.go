package tpm

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-tpm/tpm2"
)

// TestTemporary has a TPM answer a definition with each code.
func TestTemporary(t *testing.T) {
	r := referenceRig(t)
	for rc, want := range map[tpm2.TPMRC]bool{
		tpm2.TPMRCLockout: true, tpm2.TPMRCNVUnavailable: true, tpm2.TPMRCObjectMemory: true,
		tpm2.TPMRCSessionMemory: true, tpm2.TPMRCSessionHandles: true,
		tpm2.TPMRCCanceled: true, tpm2.TPMRCMemory: true, tpm2.TPMRCObjectHandles: true,
		tpm2.TPMRCNVSpace: false, tpm2.TPMRCHierarchy: false, tpm2.TPMRCFailure: false, tpm2.TPMRCAuthFail: false,
	} {
		r.meddle(func(cc tpm2.TPMCC, cmd []byte, next exchange) ([]byte, bool, error) {
			if cc == tpm2.TPMCCCreatePrimary {
				return answer(rc), true, nil
			}
			return next(cmd)
		})
		if err := r.newCounter(t.TempDir()).Define(t.Context()); err == nil || Temporary(err) != want {
			t.Errorf("%v: %v is temporary or not", rc, err)
		}
	}
	for _, err := range []error{
		fmt.Errorf("claim: %w", ErrBusy),
		&CommandError{Command: "TPM2_NV_Increment", Sent: true, Err: os.ErrDeadlineExceeded, changes: true},
	} {
		if !Temporary(err) {
			t.Errorf("%v is not temporary", err)
		}
	}
	for _, err := range []error{nil, errors.New("other"), ErrNoTPM, ErrStranger, ErrAuthLost} {
		if Temporary(err) {
			t.Errorf("%v is temporary", err)
		}
	}
}
