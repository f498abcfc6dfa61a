//go:build vm

package vmtest

import (
	"context"
	"os"
	"strconv"
	"testing"

	"github.com/opmint/opmint/keygen"
)

// TestVMPoweredOffAndReverted takes disk and vTPM back together while the machine is off.
func TestVMPoweredOffAndReverted(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "tpm-crb")
	first := mintOnce(t, m, "in the first run")
	backup := clone(t, m)
	second := mintOnce(t, m, "after the backup")
	seen := map[keygen.Identity]bool{first.identity: true, second.identity: true}
	for _, when := range []string{"after the first revert", "after the second revert"} {
		revert(t, m, backup)
		again := mintOnce(t, m, when)
		if again.epoch != second.epoch || again.seq != second.seq {
			t.Errorf("%s: number %v, want that of %v: the machine did not go back as it should", when, again, second)
		}
		if seen[again.identity] {
			t.Errorf("%s: the identity is %s, which minted before", when, again.identity)
		}
		seen[again.identity] = true
	}
}

// TestVMCloned runs two machines at once that were one.
func TestVMCloned(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "tpm-crb")
	m.CPU = []string{"-rdrand", "-rdseed"} // which only restored memory needs
	origin := mintOnce(t, m, "before the cloning")
	vms := []*VM{startDaemon(t, m), startDaemon(t, clone(t, m))}
	var identities []keygen.Identity
	for range 3 {
		for i, vm := range vms {
			identities = append(identities, mint(t, vm, "in machine "+strconv.Itoa(i)).Identity())
		}
	}
	one, other := identities[0], identities[1]
	if one == other || one == origin.identity || other == origin.identity {
		t.Errorf("identities %s and %s, before %s, want three", one, other, origin.identity)
	}
	for _, vm := range vms {
		wantVirtual(t, vm, false)
	}
}

// TestPowerLostWhileMinting cuts the power in the middle of a stream of names.
func TestPowerLostWhileMinting(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "tpm-tis")
	var before number
	for _, when := range []string{"before the first cut", "before the second cut", "before the third cut"} {
		cut := &cutter{vm: startDaemon(t, m)}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := cut.vm.Run(ctx, cut, "/opmint", "mint", "-n", "1000000"); err == nil {
			t.Fatal("minted a million names before the power was cut")
		}
		names := minted.add(t, cut.received, when)
		if len(names) < batch {
			t.Fatalf("%s: %d names, want the power cut after %d", when, len(names), batch)
		}
		now := numberOf(names[0])
		if now.epoch <= before.epoch || now.identity == before.identity {
			t.Errorf("%s: number %v after %v, want another identity and a higher epoch", when, now, before)
		}
		before = now
	}
}

// cutter receives names and cuts the power when it has enough of them.
type cutter struct {
	vm       *VM
	received []byte
}

func (c *cutter) Write(p []byte) (int, error) {
	c.received = append(c.received, p...)
	if len(c.received) > (keygen.Length+1)*batch {
		c.vm.Kill()
	}
	return len(p), nil
}

// mintOnce turns the machine on, has it mint and cuts its power. It returns the number of the first name.
func mintOnce(t *testing.T, m *Machine, when string) number {
	t.Helper()
	vm := startDaemon(t, m)
	defer vm.Kill()
	return numberOf(mint(t, vm, when))
}

// clone returns a copy of a machine that is off.
func clone(t *testing.T, m *Machine) *Machine {
	t.Helper()
	copied := *m
	copied.Folder = t.TempDir()
	copyFolder(t, copied.Folder, m.Folder)
	showConsole(t, &copied)
	return &copied
}

// revert makes a machine that is off what its backup is.
func revert(t *testing.T, m, backup *Machine) {
	t.Helper()
	if err := os.RemoveAll(m.Folder); err != nil {
		t.Fatal(err)
	}
	copyFolder(t, m.Folder, backup.Folder)
}

func copyFolder(t *testing.T, to, from string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}
