//go:build vm

package vmtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience bounds what the machine does at one request. It takes seconds; a machine with other work takes longer.
const patience = 3 * time.Minute

// image holds the kernel that all tests boot, with one initramfs or the other.
var image struct{ kernel, initramfs, system string }

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "vmtest")
	if err == nil {
		defer os.RemoveAll(folder)
		err = buildImage(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	m.Run()
}

// buildImage makes what image holds.
func buildImage(folder string) (err error) {
	image.initramfs, image.system = filepath.Join(folder, "initramfs"), filepath.Join(folder, "system")
	if image.kernel, err = FindKernel(); err != nil {
		return err
	}
	if err := Compile(context.Background(), folder); err != nil {
		return err
	}
	return errors.Join(BuildInitramfs(image.kernel, folder, image.initramfs),
		BuildSystem(image.kernel, folder, image.system))
}

// newMachine returns a machine that was never on. It shows its console at the end of a test that failed.
func newMachine(t *testing.T, tpm string) *Machine {
	t.Helper()
	m := &Machine{Folder: t.TempDir(), Kernel: image.kernel, Initramfs: image.initramfs, TPM: tpm}
	if err := m.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	showConsole(t, m)
	return m
}

func showConsole(t *testing.T, m *Machine) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("console: %s", m.Console())
		}
	})
}

// boot returns the running machine. It goes off at the end of the test at the latest.
func boot(t *testing.T, m *Machine) *VM {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	vm, err := m.Boot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(vm.Kill)
	return vm
}

// resume returns the machine running in a new QEMU from a snapshot on. It goes off as one that was booted.
func resume(t *testing.T, m *Machine, snapshot string) *VM {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	vm, err := m.Resume(ctx, snapshot)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(vm.Kill)
	return vm
}

// snapshot takes a snapshot of the machine.
func snapshot(t *testing.T, vm *VM, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := vm.Snapshot(ctx, name); err != nil {
		t.Fatal(err)
	}
}

// restore takes the machine back to a snapshot.
func restore(t *testing.T, vm *VM, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := vm.Restore(ctx, name); err != nil {
		t.Fatal(err)
	}
}

// call returns what the guest's task answers.
func call[R any](t *testing.T, vm *VM, task string, arguments any) R {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var result R
	if err := vm.Call(ctx, task, arguments, &result); err != nil {
		t.Fatal(err)
	}
	return result
}

// opmint returns what the program prints in the guest.
func opmint(t *testing.T, vm *VM, arguments ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var stdout bytes.Buffer
	if err := vm.Run(ctx, &stdout, append([]string{"/opmint"}, arguments...)...); err != nil {
		t.Fatal(err)
	}
	return stdout.Bytes()
}

// opmintJSON returns what the program prints in the guest with --json.
func opmintJSON[R any](t *testing.T, vm *VM, command string) R {
	t.Helper()
	var result R
	if err := json.Unmarshal(opmint(t, vm, command, "--json"), &result); err != nil {
		t.Fatalf("opmint %s --json: %v", command, err)
	}
	return result
}

func TestBootTellsWhyAMachineDied(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "tpm-crb")
	m.Initramfs = filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(m.Initramfs, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := m.Boot(ctx)
	if err == nil || !strings.Contains(err.Error(), "Unable to mount root fs") {
		t.Errorf("boot without a first program: error %v, want the kernel's panic", err)
	}
}

func TestBootEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newMachine(t, "tpm-crb").Boot(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("boot with a context that has ended: error %v, want context.Canceled", err)
	}
}
