//go:build vm

package vmtest

import (
	"testing"

	"github.com/opmint/opmint/vtpmdetect"
)

// laptop makes SMBIOS tables say what those of a real one do.
var laptop = []string{
	"type=0,vendor=LENOVO,version=N2HET71W (1.54 ),date=10/19/2023",
	"type=1,manufacturer=LENOVO,product=20QV00CEMX,version=ThinkPad X1 Extreme 2nd",
	"type=2,manufacturer=LENOVO,product=20QV00CEMX",
	"type=3,manufacturer=LENOVO",
}

// noFlag makes the processor hide that there is a hypervisor.
var noFlag = []string{"-hypervisor"}

func TestDetect(t *testing.T) {
	virtual := vtpmdetect.Verdict{TPM: vtpmdetect.TPMVirtual, Host: vtpmdetect.HostVM, Class: vtpmdetect.ClassV}
	none := vtpmdetect.Verdict{TPM: vtpmdetect.TPMNone, Host: vtpmdetect.HostVM, Class: vtpmdetect.ClassJ}
	for name, test := range map[string]struct {
		machine Machine
		want    vtpmdetect.Verdict
	}{
		"crb":                              {Machine{TPM: "tpm-crb"}, virtual},
		"laptop with tis":                  {Machine{TPM: "tpm-tis", SMBIOS: laptop}, virtual},
		"laptop with crb and no flag":      {Machine{TPM: "tpm-crb", SMBIOS: laptop, CPU: noFlag}, virtual},
		"laptop with neither TPM nor flag": {Machine{SMBIOS: laptop, CPU: noFlag}, none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testDetect(t, test.machine, test.want)
		})
	}
}

func testDetect(t *testing.T, like Machine, want vtpmdetect.Verdict) {
	m := newMachine(t, like.TPM)
	m.SMBIOS, m.CPU = like.SMBIOS, like.CPU
	report := opmintJSON[vtpmdetect.Report](t, boot(t, m), "detect")

	got := report.Verdict
	if got.TPM != want.TPM || got.Host != want.Host || got.Class != want.Class {
		t.Errorf("TPM %s, host %s, class %s, want %s, %s, %s; report %+v", got.TPM, got.Host, got.Class,
			want.TPM, want.Host, want.Class, report)
	}
	// The machine has to look as it was meant to, or the verdict proves less than it seems to.
	host := report.Evidence.Host
	if flag := host.CPUHypervisorFlag; flag == nil || *flag != (m.CPU == nil) {
		t.Errorf("hypervisor flag %v, want %v", flag, m.CPU == nil)
	}
	lenovo := vtpmdetect.DMI{SysVendor: "LENOVO", ProductName: "20QV00CEMX", BIOSVendor: "LENOVO"}
	if m.SMBIOS != nil && host.DMI != lenovo {
		t.Errorf("DMI strings %+v, want %+v", host.DMI, lenovo)
	}
}
