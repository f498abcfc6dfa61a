package vmtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A Machine is a virtual machine while it is off.
type Machine struct {
	// Folder holds disk.qcow2, with the snapshots in it, and tpm, the state of the virtual TPM; also console.log and
	// swtpm.log of the last run. It is the machine's alone.
	Folder string
	// Kernel and Initramfs are files as FindKernel and BuildInitramfs give them.
	Kernel, Initramfs string
	// TPM is how the machine sees its TPM, as QEMU's device is called: tpm-crb or tpm-tis; empty: it has none.
	TPM string
	// CPU are features that the processor has or, with a minus sign, lacks, as QEMU's -cpu calls them: "-hypervisor".
	CPU []string
	// Generation is the GUID that a hypervisor changes when it takes a machine back or clones it; empty: the machine has
	// no such device. All runs of a machine have it or none.
	Generation string
	// System is the image of a disk as FindSystem gives it, with which the machine's disk begins; then Initramfs is one
	// of BuildSystem. Empty: the disk is empty.
	System string
	// SMBIOS are values of QEMU's -smbios, such as "type=1,manufacturer=LENOVO".
	SMBIOS []string
}

// Create makes the machine's disk and the place of its TPM's state.
func (m *Machine) Create(ctx context.Context) error {
	if err := os.MkdirAll(m.path("tpm"), 0o700); err != nil {
		return fmt.Errorf("create machine: %w", err)
	}
	if m.System != "" {
		return coverDisk(ctx, m.System, m.path("disk.qcow2"))
	}
	return createDisk(ctx, m.path("disk.qcow2"))
}

// Boot turns the machine on and returns when the guest program answers. When ctx ends first the error has what
// the kernel printed.
func (m *Machine) Boot(ctx context.Context) (*VM, error) {
	vm, err := m.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("boot: %w", err)
	}
	if err := vm.await(ctx, "ready"); err != nil {
		return nil, fmt.Errorf("boot: %w", err)
	}
	return vm, nil
}

// Resume turns the machine on in the state of a snapshot that an earlier run has taken, in a new QEMU.
func (m *Machine) Resume(ctx context.Context, snapshot string) (*VM, error) {
	vm, err := m.run(ctx, "-loadvm", snapshot)
	if err != nil {
		return nil, fmt.Errorf("resume from snapshot %s: %w", snapshot, err)
	}
	return vm, nil
}

// run turns the machine on, with further arguments of QEMU, and returns when QEMU's monitor answers.
func (m *Machine) run(ctx context.Context, arguments ...string) (*VM, error) {
	vm := &VM{machine: m}
	if err := m.start(vm, arguments); err != nil {
		vm.Kill()
		return nil, err
	}
	if err := vm.monitor.greet(ctx); err != nil {
		return nil, vm.explain(err)
	}
	return vm, nil
}

// start starts the TPM and QEMU and connects them. What it got done before an error stands in vm.
func (m *Machine) start(vm *VM, arguments []string) error {
	var agent, control *os.File
	var err error
	if vm.agent, agent, err = newWire(); err != nil {
		return err
	}
	defer agent.Close()
	if vm.monitor.wire, control, err = newWire(); err != nil {
		return err
	}
	defer control.Close()
	qemu := exec.Command("qemu-system-x86_64", append(m.arguments(), arguments...)...)
	qemu.ExtraFiles = []*os.File{agent, control}
	if m.TPM != "" {
		ofTPM, err := m.startTPM(vm)
		if err != nil {
			return err
		}
		defer ofTPM.Close()
		qemu.ExtraFiles = append(qemu.ExtraFiles, ofTPM)
	}
	vm.qemu, err = start(qemu)
	return err
}

// startTPM starts the TPM and returns the socket to it, for QEMU.
func (m *Machine) startTPM(vm *VM) (*os.File, error) {
	ofQEMU, ofTPM, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer ofTPM.Close()
	swtpm := exec.Command("swtpm", "socket", "--tpm2", "--terminate", "--tpmstate", "dir="+m.path("tpm"),
		"--ctrl", "type=unixio,clientfd=3", "--log", "file="+m.path("swtpm.log"))
	swtpm.ExtraFiles = []*os.File{ofTPM}
	if vm.swtpm, err = start(swtpm); err != nil {
		ofQEMU.Close()
		return nil, err
	}
	return ofQEMU, nil
}

// arguments are QEMU's. Its files 3, 4 and 5 are its ends of the serial line, the monitor and the TPM. Some of
// the others need a reason:
//   - -cx16: with the instruction cmpxchg16b, emulated guests of QEMU 7.2 crash now and then.
//   - no_timer_check: the kernel panics if the timer does not tick while it looks, and on a busy host it may not.
//   - clocksource=acpi_pm: the processor's own clock, if emulated, does not go back when memory does. The machine could
//     tell by it that it was restored, and one of hardware cannot.
func (m *Machine) arguments() []string {
	arguments := []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-M", "q35", "-accel", "tcg", "-smp", "1", "-m", "256",
		"-cpu", strings.Join(append([]string{"max", "-cx16"}, m.CPU...), ","),
		"-kernel", m.Kernel, "-initrd", m.Initramfs, "-append", "console=ttyS0 panic=-1 no_timer_check clocksource=acpi_pm",
		"-chardev", "file,id=console,path=" + m.path("console.log"), "-serial", "chardev:console",
		"-chardev", "socket,id=agent,fd=3", "-serial", "chardev:agent",
		"-chardev", "socket,id=control,fd=4", "-mon", "chardev=control,mode=control",
		"-drive", "if=none,id=disk,format=qcow2,file=" + m.path("disk.qcow2"),
		"-device", "virtio-blk-pci,drive=disk",
	}
	if m.TPM != "" {
		arguments = append(arguments, "-chardev", "socket,id=tpm,fd=5", "-tpmdev", "emulator,id=tpm0,chardev=tpm",
			"-device", m.TPM+",tpmdev=tpm0")
	}
	if m.Generation != "" {
		arguments = append(arguments, "-device", "vmgenid,guid="+m.Generation)
	}
	for _, value := range m.SMBIOS {
		arguments = append(arguments, "-smbios", value)
	}
	return arguments
}

func (m *Machine) path(name string) string { return filepath.Join(m.Folder, name) }

// Console returns the end of what the kernel and the programs have printed since the power came on last.
func (m *Machine) Console() string {
	const enough = 8192
	text, err := os.ReadFile(m.path("console.log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-enough):])
}
