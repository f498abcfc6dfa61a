package vtpmdetect

import (
	"fmt"
	"strings"
)

// hostRules decides what the host is; the first that fits. Signs that only a
// VM has come first, then those that only the metal below a hypervisor has,
// then what both have.
var hostRules = []rule[HostKind]{
	{"vm by device or product", HostVM, ofHost(vmACPI, deviceTree, vmProduct)},
	{"metal below a hypervisor", HostMetal, ofHost(xenDom0, hypervRoot, metalProduct)},
	{"vm by hypervisor", HostVM, ofHost(hypervisorFlag, hypervisorVendor, sysHypervisor)},
	{"metal by flag", HostMetal, ofHost(noHypervisorFlag)},
	{"unknown", HostUnknown, ofHost(nothingOfHost)},
}

// ofHost makes one finder of several, as ofTPM does.
func ofHost(find ...func(facts) Reason) func(facts) []Reason {
	return func(f facts) []Reason { return collect(f, find) }
}

// vmACPIIDs are ids of devices that only a hypervisor gives to its guests.
var vmACPIIDs = []struct{ id, device string }{
	{"VM_GEN_COUNTER", "the VM generation id, which changes when the VM is rolled back or cloned"},
	{"AMZNC10C", "Amazon's VM clock"},
	{"QEMU0002", "QEMU's firmware configuration device"},
}

// vmACPIDevice returns what a VM's device is whose id stands in an ACPI
// device's modalias; empty if none does.
func vmACPIDevice(modalias string) string {
	upper := strings.ToUpper(modalias)
	for _, vm := range vmACPIIDs {
		if strings.Contains(upper, vm.id) {
			return vm.device
		}
	}
	return ""
}

func vmACPI(f facts) Reason {
	for _, modalias := range f.host.ACPIModalias {
		if device := vmACPIDevice(modalias); device != "" {
			return Reason{Signal: "host.acpi_modalias", Value: modalias, Why: "the firmware has " + device}
		}
	}
	return Reason{}
}

func deviceTree(f facts) Reason {
	if f.host.DeviceTreeHypervisor == "" {
		return Reason{}
	}
	return Reason{Signal: "host.device_tree_hypervisor", Value: f.host.DeviceTreeHypervisor,
		Why: "the device tree tells of a hypervisor"}
}

func vmProduct(f facts) Reason {
	dmi := f.host.DMI
	for _, field := range []struct{ signal, value string }{
		{"host.dmi.product_name", dmi.ProductName},
		{"host.dmi.sys_vendor", dmi.SysVendor},
		{"host.dmi.bios_vendor", dmi.BIOSVendor},
	} {
		if name, ok := vmProductName(field.value); ok {
			return Reason{Signal: field.signal, Value: field.value,
				Why: fmt.Sprintf("%q is the name of a VM product or of its firmware", name)}
		}
	}
	return Reason{}
}

func xenDom0(f facts) Reason {
	if !isTrue(f.host.XenDom0) {
		return Reason{}
	}
	return Reason{Signal: "host.xen_dom0", Value: "true", Why: "this is Xen's control domain, which has the hardware"}
}

func hypervRoot(f facts) Reason {
	if !isTrue(f.host.HypervRoot) {
		return Reason{}
	}
	return Reason{Signal: "host.hyperv_root", Value: "true",
		Why: "this is Hyper-V's root partition, which has the hardware"}
}

func metalProduct(f facts) Reason {
	if !strings.Contains(f.host.DMI.ProductName, ".metal") {
		return Reason{}
	}
	return Reason{Signal: "host.dmi.product_name", Value: f.host.DMI.ProductName,
		Why: "a cloud's instance type without a hypervisor"}
}

func hypervisorFlag(f facts) Reason {
	if !isTrue(f.host.CPUHypervisorFlag) {
		return Reason{}
	}
	return Reason{Signal: "host.cpu_hypervisor_flag", Value: "true", Why: "the CPU says that a hypervisor runs it"}
}

func hypervisorVendor(f facts) Reason {
	if f.host.CPUHypervisorVendor == "" {
		return Reason{}
	}
	return Reason{Signal: "host.cpu_hypervisor_vendor", Value: f.host.CPUHypervisorVendor,
		Why: "the CPU says which hypervisor runs it"}
}

func sysHypervisor(f facts) Reason {
	if f.host.SysHypervisor == "" {
		return Reason{}
	}
	return Reason{Signal: "host.sys_hypervisor", Value: f.host.SysHypervisor,
		Why: "the kernel says which hypervisor runs it"}
}

func noHypervisorFlag(f facts) Reason {
	if flag := f.host.CPUHypervisorFlag; flag == nil || *flag {
		return Reason{}
	}
	return Reason{Signal: "host.cpu_hypervisor_flag", Value: "false",
		Why: "the CPU says that no hypervisor runs it"}
}

func nothingOfHost(facts) Reason {
	return Reason{Signal: "host.cpu_hypervisor_flag",
		Why: "nothing tells a VM from metal here; where the CPU has no such flag, only the operator knows"}
}

func isTrue(b *bool) bool { return b != nil && *b }
