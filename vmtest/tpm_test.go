//go:build vm

package vmtest

import (
	"slices"
	"testing"
)

// ibm is what swtpm's library calls its maker: "IBM\0".
const ibm = 0x49424D00

func TestTPM(t *testing.T) {
	for _, tpm := range []string{"tpm-crb", "tpm-tis"} {
		t.Run(tpm, func(t *testing.T) {
			vm := boot(t, newMachine(t, tpm))
			t.Run("no answer is lost", func(t *testing.T) { testNoAnswerIsLost(t, vm) })
			first := call[uint64](t, vm, "define", struct{}{})
			t.Run("one process owns all values", func(t *testing.T) { testOneProcess(t, vm, first) })
			t.Run("two processes own no value twice", func(t *testing.T) { testTwoProcesses(t, vm) })
		})
	}
}

// testNoAnswerIsLost sends more than 1,000 commands in a row: three for the properties.
func testNoAnswerIsLost(t *testing.T, vm *VM) {
	const count = 400
	got := call[struct {
		Manufacturer uint32
		Openings     int
	}](t, vm, "properties", map[string]int{"count": count})
	if got.Manufacturer != ibm {
		t.Errorf("TPM of %#x, want %#x", got.Manufacturer, ibm)
	}
	if got.Openings != count {
		t.Errorf("the device was opened %d times for %d operations: answers were lost", got.Openings, count)
	}
}

func testOneProcess(t *testing.T, vm *VM, defined uint64) {
	owned := claim(t, vm, 1, 50)[0]
	for i, value := range owned {
		if want := defined + 1 + uint64(i); value != want {
			t.Fatalf("claim %d is %d, want %d: nobody else claims", i, value, want)
		}
	}
}

func testTwoProcesses(t *testing.T, vm *VM) {
	owned := claim(t, vm, 2, 50)
	for _, values := range owned {
		if !slices.IsSorted(values) {
			t.Errorf("a process owns %v, want each above the one before", values)
		}
	}
	if slices.Max(owned[0]) < slices.Min(owned[1]) || slices.Max(owned[1]) < slices.Min(owned[0]) {
		t.Errorf("one process began when the other had ended: %v", owned)
	}
	wantDistinct(t, owned)
}

func wantDistinct(t *testing.T, owned [][]uint64) {
	t.Helper()
	all := slices.Sorted(slices.Values(slices.Concat(owned...)))
	for i := 1; i < len(all); i++ {
		if all[i] == all[i-1] {
			t.Errorf("value %d is owned twice", all[i])
		}
	}
}

// claim has processes in the machine claim values, and returns what each owns.
func claim(t *testing.T, vm *VM, processes, count int) [][]uint64 {
	t.Helper()
	owned := call[[][]uint64](t, vm, "claim", map[string]int{"processes": processes, "count": count})
	if len(owned) != processes {
		t.Fatalf("%d processes answered, want %d", len(owned), processes)
	}
	for _, values := range owned {
		if len(values) != count {
			t.Fatalf("a process owns %d values, want %d", len(values), count)
		}
	}
	return owned
}
