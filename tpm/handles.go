package tpm

import (
	"errors"

	"github.com/google/go-tpm/tpm2"
)

// maxHandles is more than any TPM has slots for.
const maxHandles = 64

// flush removes an object or a session from the TPM's memory. That it cannot
// be removed is no reason for the operation to fail, which has its result: the
// resource manager or the next connection cleans up.
func (l *link) flush(handle tpm2.TPMHandle) {
	_, _ = run(l, tpm2.FlushContext{FlushHandle: handle})
}

// flushLeftovers removes the objects and sessions that earlier clients of a TPM
// without a resource manager have left: three of them, and nothing works any
// more. An error code of the TPM, say in failure mode, is left to the command
// that needs the room.
func (l *link) flushLeftovers() error {
	for _, kind := range []tpm2.TPMHT{tpm2.TPMHTTransient, tpm2.TPMHTHMACSession} {
		handles, err := l.handles(kind)
		if err != nil && (isLost(err) || errors.Is(err, ErrBusy)) {
			return err
		}
		for _, h := range handles {
			l.flush(h)
		}
	}
	return nil
}

// flushSaved removes the sessions that other clients of a TPM without a resource
// manager have saved and forgotten, and reports whether there were any. It is
// for a TPM that has no handle left: until then they may be in use.
func (l *link) flushSaved() bool {
	if !l.cleans {
		return false
	}
	handles, err := l.handles(tpm2.TPMHTPolicySession) // as GetCapability names the saved ones
	for _, h := range handles {
		l.flush(h)
	}
	return err == nil && len(handles) > 0
}

// handles lists the handles of a kind that the TPM has in its memory.
func (l *link) handles(kind tpm2.TPMHT) ([]tpm2.TPMHandle, error) {
	rsp, err := run(l, tpm2.GetCapability{
		Capability: tpm2.TPMCapHandles, Property: uint32(kind) << 24, PropertyCount: maxHandles,
	})
	if err != nil {
		return nil, err
	}
	list, err := rsp.CapabilityData.Data.Handles()
	if err != nil {
		return nil, l.failed(true, err)
	}
	return list.Handle, nil
}
