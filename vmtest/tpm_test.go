//go:build vm

package vmtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// ibm is what swtpm's library calls its maker: "IBM\0".
const ibm = 0x49424D00

// maker is what the machine's SMBIOS tables say.
const maker = "LENOVO"

func TestTPM(t *testing.T) {
	for _, tpm := range []string{"tpm-crb", "tpm-tis"} {
		t.Run(tpm, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, tpm)
			m.SMBIOS = []string{"type=1,manufacturer=" + maker}
			vm := boot(t, m)
			t.Run("the machine is as asked for", func(t *testing.T) { testMachine(t, m, vm) })
			t.Run("no answer is lost", func(t *testing.T) { testNoAnswerIsLost(t, vm) })
			first := call[uint64](t, vm, "define", struct{}{})
			t.Run("one process owns all values", func(t *testing.T) { testOneProcess(t, vm, first) })
			t.Run("two processes own no value twice", func(t *testing.T) { testTwoProcesses(t, vm) })
		})
	}
}

func testMachine(t *testing.T, m *Machine, vm *VM) {
	got := call[struct{ Release, Vendor, Driver string }](t, vm, "system", struct{}{})
	var major, minor int
	if _, err := fmt.Sscanf(got.Release, "%d.%d", &major, &minor); err != nil {
		t.Fatalf("kernel release %q: %v", got.Release, err)
	}
	if major < 6 || major == 6 && minor < 12 {
		t.Errorf("kernel is %s, want 6.12 or later, whose TPM device loses answers to careless readers", got.Release)
	}
	if want := strings.ReplaceAll(m.TPM, "-", "_"); got.Driver != want || got.Vendor != maker {
		t.Errorf("driver %q, maker %q, want %q, %q", got.Driver, got.Vendor, want, maker)
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
	// They begin together, but the one may get no value as long as the other claims:
	// then what it incremented is missing among the other's.
	if consecutive(owned[0]) && consecutive(owned[1]) {
		t.Errorf("neither process got in the other's way: %v", owned)
	}
	wantDistinct(t, owned)
}

// consecutive reports whether no value is missing among sorted ones.
func consecutive(values []uint64) bool {
	return values[len(values)-1]-values[0] == uint64(len(values)-1)
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
