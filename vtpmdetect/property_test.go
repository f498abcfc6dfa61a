package vtpmdetect

import (
	"testing"

	"pgregory.net/rapid"
)

// drawEvidence draws evidence of any machine, likely or not: each field is
// absent, or a value that some rule knows, or one that none knows.
func drawEvidence(t *rapid.T) Evidence {
	if rapid.IntRange(0, 9).Draw(t, "tpm is null") == 0 {
		return Evidence{Host: drawHost(t)}
	}
	return Evidence{TPM: drawTPM(t), Host: drawHost(t)}
}

func drawTPM(t *rapid.T) *TPM {
	makers := []Word{0, 0x49465800, 0x494e5443, 0x49424d00, 0x49424d20, idMicrosoft, 0x48504500, 0x43524f53, 0x12345678}
	vendors := []*string{nil, new(""), new("Pluton.TPM.A"), new("Pluton.TPM.A\x00"), new("IoT Software TPM"),
		new("xCG fTPM"), new("SSE fTPM"), new("SLB9670"), new("a\x00b")}
	drivers := []string{"", "tpm_tis", "tpm_crb", "tpm_tis_spi", "vtpm", "xen-tpmfront", "tpm_vtpm_proxy",
		"tpm_ibmvtpm", "tpm-svsm", "ftpm-tee", "optee-ftpm", "tpm_ftpm_tee", "other"}
	devices := []string{"", "/sys/devices/virtual/tpm/tpm0", "/sys/devices/pnp0/00:05/tpm/tpm0"}
	return &TPM{
		Manufacturer: rapid.SampledFrom(makers).Draw(t, "manufacturer"),
		VendorString: rapid.SampledFrom(vendors).Draw(t, "vendor string"),
		ClockUpdate:  rapid.SampledFrom([]Millis{0, 0x1000, 0x80000, 0x400000}).Draw(t, "clock update"),
		FailureMode:  drawFlag(t, "failure mode"),
		Driver:       rapid.SampledFrom(drivers).Draw(t, "driver"),
		Device:       rapid.SampledFrom(devices).Draw(t, "device"),
		EKIssuer:     drawIssuer(t),
	}
}

func drawHost(t *rapid.T) Host {
	names := []string{"", "Dell Inc.", "QEMU", "Virtual Machine", "m6g.metal", "VMware.metal", "Google Compute Engine"}
	return Host{
		CPUHypervisorFlag:   drawFlag(t, "flag"),
		CPUHypervisorVendor: rapid.SampledFrom([]string{"", "KVMKVMKVM", "Microsoft Hv", "?"}).Draw(t, "hypervisor vendor"),
		DMI: DMI{
			SysVendor:   rapid.SampledFrom(names).Draw(t, "sys_vendor"),
			ProductName: rapid.SampledFrom(names).Draw(t, "product_name"),
			BIOSVendor:  rapid.SampledFrom(names).Draw(t, "bios_vendor"),
		},
		ACPIModalias: rapid.SliceOfN(rapid.SampledFrom([]string{"acpi:PNP0C0A:", "acpi:QEMU0002:", "acpi:AMZNC10C:"}),
			0, 2).Draw(t, "acpi_modalias"),
		XenDom0:              drawFlag(t, "xen_dom0"),
		HypervRoot:           drawFlag(t, "hyperv_root"),
		SysHypervisor:        rapid.SampledFrom([]string{"", "xen"}).Draw(t, "sys_hypervisor"),
		DeviceTreeHypervisor: rapid.SampledFrom([]string{"", "linux,kvm"}).Draw(t, "device tree"),
		Container:            rapid.SampledFrom([]string{"", "docker"}).Draw(t, "container"),
	}
}

func drawFlag(t *rapid.T, label string) *bool {
	return rapid.SampledFrom([]*bool{nil, new(false), new(true)}).Draw(t, label)
}

func drawIssuer(t *rapid.T) string {
	known := rapid.SampledFrom([]string{"", "CN=swtpm-localca", "CN=Infineon OPTIGA(TM) RSA Manufacturing CA 003"})
	return rapid.OneOf(known, rapid.String()).Draw(t, "issuer")
}

// A change to evidence; the TPM is never nil there.
type change struct {
	name  string
	apply func(*Evidence)
}

// vmSignals add what only a VM or a software TPM shows.
var vmSignals = []change{
	{"driver", func(e *Evidence) { e.TPM.Driver = "vtpm" }},
	{"TEE driver", func(e *Evidence) { e.TPM.Driver = "ftpm-tee" }},
	{"device", func(e *Evidence) { e.TPM.Device = "/sys/devices/virtual/tpm/tpm1" }},
	{"software CA", func(e *Evidence) { e.TPM.EKIssuer = "CN=swtpm-localca" }},
	{"software maker", func(e *Evidence) { e.TPM.Manufacturer = 0x49424d00 }},
	{"software clock", func(e *Evidence) { e.TPM.ClockUpdate = 0x1000 }},
	{"failure mode", func(e *Evidence) { e.TPM.FailureMode = new(true) }},
	{"ACPI id", func(e *Evidence) { e.Host.ACPIModalias = append(e.Host.ACPIModalias, "acpi:VMGENCTR:VM_GEN_COUNTER:") }},
	{"device tree", func(e *Evidence) { e.Host.DeviceTreeHypervisor = "xen,xen" }},
	{"vendor", func(e *Evidence) { e.Host.DMI.SysVendor = "QEMU" }},
	{"product", func(e *Evidence) { e.Host.DMI.ProductName = "Virtual Machine" }},
	{"BIOS", func(e *Evidence) { e.Host.DMI.BIOSVendor = "SeaBIOS" }},
	{"flag", func(e *Evidence) { e.Host.CPUHypervisorFlag = new(true) }},
	{"hypervisor vendor", func(e *Evidence) { e.Host.CPUHypervisorVendor = "VMwareVMware" }},
	{"sysfs", func(e *Evidence) { e.Host.SysHypervisor = "xen" }},
}

// forgotten drop what speaks against a VM, or for a chip.
var forgotten = []change{
	{"flag", func(e *Evidence) { e.Host.CPUHypervisorFlag = nil }},
	{"dom0", func(e *Evidence) { e.Host.XenDom0 = nil }},
	{"root partition", func(e *Evidence) { e.Host.HypervRoot = nil }},
	{"metal product", func(e *Evidence) { e.Host.DMI.ProductName = "" }},
	{"manufacturer", func(e *Evidence) { e.TPM.Manufacturer = 0 }},
	{"vendor string", func(e *Evidence) { e.TPM.VendorString = nil }},
	{"TPM", func(e *Evidence) { e.TPM = &TPM{} }},
	{"host", func(e *Evidence) { e.Host = Host{} }},
}

func TestAddedVMSignalNeverMakesPhysical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkTowardsVM(t, drawEvidence(t), vmSignals) })
}

// A product name that names a VM is a sign of one; to forget it is not covered
// by what is promised, so only names that speak for metal are drawn here.
func TestForgettingNeverMakesPhysical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEvidence(t)
		if _, vm := vmProductName(e.Host.DMI.ProductName); vm {
			e.Host.DMI.ProductName = "m6g.metal"
		}
		checkTowardsVM(t, e, forgotten)
	})
}

func checkTowardsVM(t *rapid.T, e Evidence, changes []change) {
	before := Judge(e)
	c := rapid.SampledFrom(changes).Draw(t, "change")
	if e.TPM == nil {
		e.TPM = &TPM{}
		before = Judge(e)
	}
	c.apply(&e)
	after := Judge(e)
	if after.TPM == TPMPhysical && before.TPM != TPMPhysical || after.Class == ClassH && before.Class != ClassH {
		t.Fatalf("%s: from %+v to %+v", c.name, before, after)
	}
	if after.Host == HostMetal && before.Host != HostMetal {
		t.Fatalf("%s: host from %s to metal", c.name, before.Host)
	}
}

// With any issuer the verdict is the one without, or virtual.
func TestCertificateNeverMakesPhysical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := Evidence{TPM: drawTPM(t), Host: drawHost(t)}
		with := Judge(e).TPM
		e.TPM.EKIssuer = ""
		if without := Judge(e).TPM; with != without && with != TPMVirtual {
			t.Fatalf("%s without certificate, %s with", without, with)
		}
	})
}

func TestJudgeIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEvidence(t)
		first, second := Judge(e), Judge(e)
		if len(first.Reasons) == 0 || len(first.Reasons) != len(second.Reasons) {
			t.Fatalf("reasons %v, then %v", first.Reasons, second.Reasons)
		}
		for i := range first.Reasons {
			if first.Reasons[i] != second.Reasons[i] {
				t.Fatalf("reasons %v, then %v", first.Reasons, second.Reasons)
			}
		}
		if r := first.Reasons[0]; r.Says != string(first.TPM) {
			t.Fatalf("the TPM is %s, and the first reason says %s", first.TPM, r.Says)
		}
	})
}
