// Package vmtest runs opmint's code in a virtual machine with a real Linux kernel and a virtual TPM, and takes that
// machine back in time. A socket to a software TPM shows neither what the kernel's TPM driver does nor what a
// snapshot does to a running system; this does.
//
//	this process ──┬── socket ── QEMU ── serial line ── vmtest/guest, which runs opmint's programs
//	               ├── socket ── QEMU's monitor: snapshot, restore
//	               └── swtpm ─── QEMU ── /dev/tpm0, /dev/tpmrm0
//
// A [Machine] is what there is while the power is off: a folder with its disk and its TPM's state. [Machine.Boot] and
// [Machine.Resume] turn it on and return a [VM]; [VM.Run] runs opmint inside, [VM.Call] does other tasks there, opmintd's
// start among them; [VM.Snapshot] and [VM.Restore] take memory, disk and TPM back, [VM.Kill] cuts the power. To revert a
// machine that is off, put an older copy of its folder in its place; to clone it, copy the folder.
//
// A machine boots the guest program alone, or, with [Machine.System], a Debian with systemd in which the units are tried:
// the guest program installs them there and becomes one of its services.
//
// The processor is emulated, so no access to the host's virtualisation is needed, and everything takes several times
// longer than outside. Nothing survives the test process. The tests have the build tag vm, since they need QEMU, a
// kernel and a system, which setup.sh brings:
//
//	vmtest/setup.sh && go test -tags vm ./vmtest
package vmtest
