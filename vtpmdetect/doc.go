// Package vtpmdetect tells a TPM that cannot be rolled back from one that can.
//
// A virtual TPM goes back in time with its virtual machine, and its monotonic
// counters with it. This package looks at the TPM and at the machine around
// it, and judges:
//
//	TPM, /sys, /proc, CPUID ──Gather──▶ Evidence ──Judge──▶ Verdict
//	                           │          (JSON)              tpm, host, class, reasons
//	                           └──▶ gaps: what could not be read, and why
//
// [Gather] reads the machine and decides nothing. [Judge] decides and reads
// nothing: it is a pure function, a table of rules of which the first that
// fits decides, each with a reason that a person can read. So a report from
// any machine becomes a test by saving one file, which [ParseReport] reads.
//
//	tpm       the TPM is                                         class
//	physical  a chip or firmware, on a machine that is no VM     h
//	virtual   software                                           v
//	shared    a chip, seen from a VM; perhaps by several         v
//	unknown   not enough is known                                v
//	none      looked for, and not there                          j
//
// What is promised:
//
//   - In doubt, never physical. To forget what speaks against a VM or for a
//     chip, to add a sign of a VM, or to present an endorsement key
//     certificate, of whatever content, never turns a verdict to physical.
//   - No evidence, however odd, panics. Every read is bounded, and chains of
//     symbolic links end.
//   - Nothing here is a defence against a hypervisor that lies well. One that
//     hides the CPUID flag, has no VM's ACPI device, copies a laptop's DMI
//     strings and emulates a chip down to its clock cannot be told from metal.
//
// What each signal is worth, and where it is wrong: docs/detection.md.
//
// # While the machine runs
//
// A virtual machine can also be taken back together with its memory, and
// whoever runs in it goes on in the middle of what it was doing, perhaps in
// several copies. A [Watch] sees what there is to be seen of that:
//
//	where                            what changes                 means       names need
//	/dev/vmclock0, Linux 6.13 on     vm_generation_counter        Restored    new epoch, new minter
//	                                 disruption_marker            Disturbed   new epoch
//	timerfd, TFD_TIMER_CANCEL_ON_SET the wall clock jumps         Disturbed   new epoch
//
// It reports no events, which one caller would take from another, but a
// [Timeline]: a value that its owner compares with the one it has acted upon.
// Every caller does so for itself, after it has drawn what must not repeat (a
// number, a key) and before that goes out, since what was drawn before a look
// may have been drawn in another history too:
//
//	drawn := minter.draw()
//	now, err := watch.Current()
//	if now != acted {
//		// Drop drawn; under a lock, unless another caller did meanwhile: open
//		// the epoch that now.Since(acted) asks for, let acted be now; begin again.
//	}
//
// The first Timeline is read before the first epoch is opened. A hypervisor
// writes the VM clock before it lets a restored machine go on, so nothing goes
// out in between. Nothing is seen of a machine without a VM clock whose wall
// clock nobody corrects, of one that was merely paused, and of a process that
// is restored by itself, as CRIU does.
package vtpmdetect
