//go:build vm

package vmtest

import (
	"context"
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

// image holds the kernel and the initramfs that all tests boot.
var image struct{ kernel, initramfs string }

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "vmtest")
	if err == nil {
		defer os.RemoveAll(folder)
		image.initramfs = filepath.Join(folder, "initramfs")
		err = BuildInitramfs(context.Background(), image.initramfs)
	}
	if err == nil {
		image.kernel, err = FindKernel()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	m.Run()
}

// newMachine returns a machine that was never on.
func newMachine(t *testing.T, tpm string) *Machine {
	t.Helper()
	m := &Machine{Folder: t.TempDir(), Kernel: image.kernel, Initramfs: image.initramfs, TPM: tpm}
	if err := m.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

// boot returns the running machine. It goes off at the end of the test, and shows its console if that failed.
func boot(t *testing.T, m *Machine) *VM {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	vm, err := m.Boot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	endWith(t, vm)
	return vm
}

func endWith(t *testing.T, vm *VM) {
	t.Cleanup(func() {
		vm.Kill()
		if t.Failed() {
			t.Logf("console: %s", vm.Console())
		}
	})
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
