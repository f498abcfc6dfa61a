package tpm

import (
	"errors"

	"github.com/google/go-tpm/tpm2"
)

// Temporary reports whether what went wrong may go well later: the TPM was busy,
// locked or full, or did not say what it has done. Every operation begins by
// looking at what is there, so doing it again is safe.
func Temporary(err error) bool {
	for _, temporary := range []error{
		ErrBusy, ErrOutcomeUnknown, tpm2.TPMRCLockout, tpm2.TPMRCNVUnavailable,
		tpm2.TPMRCCanceled, tpm2.TPMRCMemory, tpm2.TPMRCObjectHandles,
		tpm2.TPMRCObjectMemory, tpm2.TPMRCSessionMemory, tpm2.TPMRCSessionHandles,
	} {
		if errors.Is(err, temporary) {
			return true
		}
	}
	return false
}
