//go:build vm

package vmtest

import (
	"context"
	"testing"
)

// TestRestoredMachineOwnsValuesAgain shows that the machine really goes back in time, TPM and all, and that no claim
// can notice that. It is why names from a virtual TPM do not rely on the TPM alone.
func TestRestoredMachineOwnsValuesAgain(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "tpm-crb")
	m.Generation = "4d4fb29c-9bd3-4cc3-a1f5-11a1f6a0c1a1"
	vm := boot(t, m)
	call[uint64](t, vm, "define", struct{}{})
	snapshot(t, vm, "before")
	first := claim(t, vm, 1, 1)[0][0]

	restore(t, vm, "before")
	if again := claim(t, vm, 1, 1)[0][0]; again != first {
		t.Errorf("after a restore a claim owns %d, want %d as before", again, first)
	}

	vm.Kill()
	m.Generation = "b4d0a0de-5a2f-4b9e-9b1c-2f6f0a7d8c55"
	vm = resume(t, m, "before")
	if again := claim(t, vm, 1, 1)[0][0]; again != first {
		t.Errorf("in a new QEMU a claim owns %d, want %d as before", again, first)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := vm.Restore(ctx, "after"); err == nil || ctx.Err() != nil {
		t.Error("restored a snapshot that was never taken")
	}
}
