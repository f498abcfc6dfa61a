package vtpmdetect

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Evidence is what was seen of a machine. A field that is absent was not
// observed; where a zero value is an observation too, the field is a pointer.
type Evidence struct {
	// TPM is nil if a TPM was looked for and is not there, null in JSON.
	// A TPM of which nothing was observed is &TPM{}; JSON without the key
	// "tpm" is read as that, so that forgetting it does not mean "none".
	TPM *TPM `json:"tpm"`
	// Host is the machine around it.
	Host Host `json:"host"`
}

// TPM is what was seen of a TPM. The numbers are properties of
// TPM2_GetCapability (TPM 2.0 Library Part 2, TPM_PT).
type TPM struct {
	Manufacturer Word    `json:"manufacturer,omitzero"`   // TPM_PT_MANUFACTURER; zero: none
	VendorString *string `json:"vendor_string,omitempty"` // TPM_PT_VENDOR_STRING_1 to _4; empty on some chips
	Firmware     []Word  `json:"firmware,omitempty"`      // TPM_PT_FIRMWARE_VERSION_1 and _2
	SpecRevision uint32  `json:"spec_revision,omitzero"`  // TPM_PT_REVISION: 116 is revision 1.16
	ClockUpdate  Millis  `json:"clock_update,omitzero"`   // TPM_PT_CLOCK_UPDATE
	FailureMode  *bool   `json:"failure_mode,omitempty"`  // the TPM is in failure mode (Part 1, "Failure Mode")
	Driver       string  `json:"driver,omitzero"`         // name of the kernel's driver, in sysfs or of the module
	Device       string  `json:"device,omitzero"`         // path in /sys/devices, links resolved
	EKIssuer     string  `json:"ek_issuer,omitzero"`      // issuers of EK certificates, with "; " between; not verified
}

// Host is what was seen of the machine around the TPM.
type Host struct {
	CPUHypervisorFlag    *bool    `json:"cpu_hypervisor_flag,omitempty"`   // CPUID leaf 1, ECX bit 31
	CPUHypervisorVendor  string   `json:"cpu_hypervisor_vendor,omitzero"`  // CPUID leaf 0x40000000
	DMI                  DMI      `json:"dmi,omitzero"`                    // SMBIOS strings
	ACPIModalias         []string `json:"acpi_modalias,omitempty"`         // those that a VM's device has
	XenDom0              *bool    `json:"xen_dom0,omitempty"`              // Xen's control domain
	HypervRoot           *bool    `json:"hyperv_root,omitempty"`           // Hyper-V's root partition
	SysHypervisor        string   `json:"sys_hypervisor,omitzero"`         // /sys/hypervisor/type
	DeviceTreeHypervisor string   `json:"device_tree_hypervisor,omitzero"` // what the device tree says of a hypervisor
	Container            string   `json:"container,omitzero"`              // what manages the container
}

// DMI holds three strings of the SMBIOS tables (DSP0134), as /sys/class/dmi/id
// names them.
type DMI struct {
	SysVendor   string `json:"sys_vendor,omitzero"`   // System Information, manufacturer
	ProductName string `json:"product_name,omitzero"` // System Information, product name
	BIOSVendor  string `json:"bios_vendor,omitzero"`  // Platform Firmware Information, vendor
}

// UnmarshalJSON ignores fields that this version does not know, as every
// reader of an opmint answer does, so that reports of newer versions can be
// judged. [ParseReport] names them.
func (e *Evidence) UnmarshalJSON(data []byte) error {
	type plain Evidence
	p := plain{TPM: &TPM{}}
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	*e = Evidence(p)
	return nil
}

// Word is 32 bits that are a code, not a quantity. Its text is 0x and eight
// hexadecimal digits; one to eight are read.
type Word uint32

// String prints w as its text.
func (w Word) String() string { return fmt.Sprintf("0x%08x", uint32(w)) }

// MarshalText implements [encoding.TextMarshaler].
func (w Word) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (w *Word) UnmarshalText(text []byte) error { return parseHex(text, (*uint32)(w)) }

// Millis is a number of milliseconds. Its text is 0x and hexadecimal digits
// without leading zeros; one to eight digits are read.
type Millis uint32

// String prints m as its text.
func (m Millis) String() string { return fmt.Sprintf("%#x", uint32(m)) }

// MarshalText implements [encoding.TextMarshaler].
func (m Millis) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (m *Millis) UnmarshalText(text []byte) error { return parseHex(text, (*uint32)(m)) }

func parseHex(text []byte, to *uint32) error {
	digits, ok := strings.CutPrefix(string(text), "0x")
	n, err := strconv.ParseUint(digits, 16, 32)
	if !ok || err != nil || len(digits) > 8 {
		return fmt.Errorf("%.40q is not 0x and one to eight hexadecimal digits", text)
	}
	*to = uint32(n)
	return nil
}
