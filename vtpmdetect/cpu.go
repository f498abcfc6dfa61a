package vtpmdetect

import (
	"encoding/binary"
	"slices"
	"strings"
)

// CPUID executes the x86 instruction of that name.
type CPUID func(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

const (
	signalFlag = "host.cpu_hypervisor_flag"

	hypervisorBit    = 1 << 31    // of ECX in leaf 1
	hypervisorLeaves = 0x40000000 // where a hypervisor introduces itself
	nextHypervisor   = 0x100      // distance to the leaves of a second one
	hypervisors      = 4          // how many to look for

	vendorHyperV = "Microsoft Hv"
)

// hypervisorVendors are the names that hypervisors give. They matter where the
// hypervisor flag is hidden: then the leaves of real CPUs hold anything.
var hypervisorVendors = []string{
	"KVMKVMKVM", "Linux KVM Hv", "TCGTCGTCGTCG", "XenVMMXenVMM", "VMwareVMware", vendorHyperV,
	"VBoxVBoxVBox", "bhyve bhyve ", "ACRNACRNACRN", "prl hyperv  ", " lrpepyh  vr", "QNXQVMBSQG", " QNXQVMBSQG ",
	"SRESRESRESRE", "Apple VZ", "HAXMHAXMHAXM", "NVMMNVMMNVMM", "OpenBSDVMM58", "UnisysSpar64", "Jailhouse",
	"EVMMEVMMEVMM",
}

// cpu learns what the CPU says of a hypervisor. The kernel's word and the
// CPU's are both heard, and a yes from either is a yes: in a guest of
// paravirtual Xen only the kernel knows, and in a locked down service only the
// CPU can be asked.
func (g *gatherer) cpu(cpuid CPUID, h *Host) {
	var flags []bool
	const cpuinfo = "proc/cpuinfo"
	if data, err := readPrefix(g.root, cpuinfo, maxCPUInfo); err != nil {
		g.failed(signalFlag, "/"+cpuinfo, err)
	} else if flag, ok := cpuinfoFlag(string(data)); ok {
		flags = append(flags, flag)
	} else {
		g.gap(signalFlag, "/"+cpuinfo, "holds no flags of an x86 CPU")
	}
	if cpuid != nil {
		if flag, ok := cpuidFlag(cpuid); ok {
			flags = append(flags, flag)
			h.CPUHypervisorVendor = cpuidVendor(cpuid, flag)
			h.HypervRoot = new(flag && hypervRootByCPUID(cpuid))
		}
	}
	if len(flags) > 0 {
		h.CPUHypervisorFlag = new(slices.Contains(flags, true))
	}
}

// cpuinfoFlag reads the first CPU of /proc/cpuinfo. A line that is cut off by
// the bound on what is read cannot say no.
func cpuinfoFlag(text string) (flag, ok bool) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(key) {
		case "":
			return false, false
		case "vendor_id":
			if strings.TrimSpace(value) == "User Mode Linux" {
				return true, true
			}
		case "flags":
			names := strings.Fields(value)
			flag = slices.Contains(names, "hypervisor")
			return flag, flag || len(names) > 0 && strings.HasSuffix(line, "\n")
		}
	}
	return false, false
}

func cpuidFlag(cpuid CPUID) (flag, ok bool) {
	if last, _, _, _ := cpuid(0, 0); last < 1 {
		return false, false
	}
	_, _, ecx, _ := cpuid(1, 0)
	return ecx&hypervisorBit != 0, true
}

// cpuidVendor returns the name of the hypervisor. Where one imitates Hyper-V
// and gives its own name after that, its own counts.
func cpuidVendor(cpuid CPUID, flag bool) string {
	vendor := signature(cpuid, hypervisorLeaves)
	if !flag && !slices.Contains(hypervisorVendors, vendor) {
		vendor = ""
	}
	for i := range uint32(hypervisors - 1) {
		other := signature(cpuid, hypervisorLeaves+nextHypervisor*(i+1))
		if slices.Contains(hypervisorVendors, other) && other != vendor && (vendor == "" || vendor == vendorHyperV) {
			vendor = other
		}
	}
	return printable(vendor)
}

// signature returns the name in a hypervisor's first leaf, without the NUL
// bytes that fill it up.
func signature(cpuid CPUID, leaf uint32) string {
	_, ebx, ecx, edx := cpuid(leaf, 0)
	var b []byte
	for _, register := range []uint32{ebx, ecx, edx} {
		b = binary.LittleEndian.AppendUint32(b, register)
	}
	return strings.TrimRight(string(b), "\x00")
}

// hypervRootByCPUID reports whether Hyper-V runs this as its root partition,
// as Linux finds it out (Hypervisor Top Level Functional Specification,
// "Feature Discovery"): it may create partitions and manage CPUs, and is not
// isolated. A Hyper-V that itself runs in a VM has a root too, which does not
// count; nor does that of one who imitates Hyper-V.
func hypervRootByCPUID(cpuid CPUID) bool {
	const (
		lastLeafNeeded   = hypervisorLeaves + 4
		interfaceHyperV  = 0x31237648 // "Hv#1"
		createPartitions = 1 << 0
		cpuManagement    = 1 << 12
		isolation        = 1 << 22
		nested           = 1 << 12
	)
	if last, _, _, _ := cpuid(hypervisorLeaves, 0); last < lastLeafNeeded || cpuidVendor(cpuid, true) != vendorHyperV {
		return false
	}
	name, _, _, _ := cpuid(hypervisorLeaves+1, 0)
	_, privileges, _, _ := cpuid(hypervisorLeaves+3, 0)
	hints, _, _, _ := cpuid(hypervisorLeaves+4, 0)
	const wanted = createPartitions | cpuManagement
	return name == interfaceHyperV && privileges&(wanted|isolation) == wanted && hints&nested == 0
}
