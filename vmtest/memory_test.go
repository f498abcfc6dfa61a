//go:build vm

package vmtest

import (
	"fmt"
	"testing"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/vtpmdetect"
)

// restores is how often a machine is taken back to one snapshot in each way.
const restores = 10

// TestRunningVMRestoredFromMemorySnapshot takes a machine back under its running daemon, again and again. Nothing tells
// the daemon: it goes on under the same numbers each time, with the same randomness from the kernel. Only the CPU's
// generator, which is in the tags, keeps the histories apart.
func TestRunningVMRestoredFromMemorySnapshot(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "tpm-crb")
	m.Generation = generation(0)
	vm := startDaemon(t, m)
	wantVirtual(t, vm, true)
	mint(t, vm, "before the snapshot")
	call[struct{}](t, vm, "reseed", struct{}{})
	snapshot(t, vm, "running")
	histories := map[string]int{} // by what the kernel's generator gave
	random := func() { histories[string(call[[]byte](t, vm, "random", struct{}{}))]++ }
	random()
	first := numberOf(mint(t, vm, "after the snapshot"))

	for i := range restores {
		restore(t, vm, "running")
		random()
		mintAgain(t, vm, fmt.Sprintf("after restore %d in the same QEMU", i), first)
	}
	// In any history, also the first, the kernel may take a new seed before it is asked.
	if len(histories) == 1+restores {
		t.Error("the kernel's randomness came back after no restore: the test is easier than it should be")
	}
	for i := range restores {
		vm.Kill()
		m.Generation = generation(1 + i)
		vm = resume(t, m, "running")
		mintAgain(t, vm, fmt.Sprintf("after restore %d in a new QEMU", i), first)
	}
}

// mintAgain mints in another history of a machine that minted under the number before.
func mintAgain(t *testing.T, vm *VM, when string, before number) {
	t.Helper()
	if again := numberOf(mint(t, vm, when)); again != before {
		t.Errorf("%s: number %v, want %v again: the machine did not go back as it should", when, again, before)
	}
}

// generation returns the GUID of a machine's generation.
func generation(i int) string { return fmt.Sprintf("4d4fb29c-9bd3-4cc3-a1f5-%012x", i) }

// wantVirtual checks what the daemon says of itself and of the machine. Whether its names have the CPU's randomness
// in them is up to the CPU.
func wantVirtual(t *testing.T, vm *VM, fresh bool) {
	t.Helper()
	got := opmintJSON[api.Identity](t, vm, "status")
	if got.Verdict.TPM != vtpmdetect.TPMVirtual || got.Verdict.Host != vtpmdetect.HostVM {
		t.Errorf("TPM %s, host %s, want virtual, vm", got.Verdict.TPM, got.Verdict.Host)
	}
	if got.Class != keygen.ClassV || got.Assumed {
		t.Errorf("class %s, assumed %v, want v, false", got.Class, got.Assumed)
	}
	if got.FreshRandomness != fresh {
		t.Errorf("fresh randomness: %v, want %v", got.FreshRandomness, fresh)
	}
}
