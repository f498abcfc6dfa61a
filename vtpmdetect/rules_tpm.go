package vtpmdetect

import (
	"path"
	"strings"
)

// tpmRules decides what the TPM is; the first that fits. Its order matters:
// what cannot be forged by the TPM's own answers comes before these.
var tpmRules = []rule[TPMKind]{
	{"none", TPMNone, noTPM},
	{"virtual by place", TPMVirtual, ofTPM(virtualDriver, virtualDevice, softwareCA)},
	{"unknown by state", TPMUnknown, ofTPM(failureMode, worldOfTEE, noManufacturer)},
	{"virtual by maker", TPMVirtual, ofTPM(softwareMaker, microsoftOnVM)},
	{"shared", TPMShared, ofTPM(chipOnVM)},
	{"unknown", TPMUnknown, ofTPM(unknownMaker, softwareClock, unknownHost)},
	{"physical", TPMPhysical, ofTPM(chipOnMetal)},
}

// ofTPM makes one finder of several; those that find nothing return the zero
// Reason. Without a TPM none is asked.
func ofTPM(find ...func(facts) Reason) func(facts) []Reason {
	return func(f facts) []Reason {
		if f.noTPM {
			return nil
		}
		return collect(f, find)
	}
}

func collect(f facts, find []func(facts) Reason) []Reason {
	var found []Reason
	for _, fn := range find {
		if r := fn(f); r != (Reason{}) {
			found = append(found, r)
		}
	}
	return found
}

func noTPM(f facts) []Reason {
	if !f.noTPM {
		return nil
	}
	return []Reason{{Signal: "tpm", Why: "there is no TPM"}}
}

// softwareDrivers are the kernel's drivers for TPMs that a host emulates. A
// driver's name in sysfs and that of its module can differ.
var softwareDrivers = map[string]string{
	"tpm_vtpm_proxy": "the TPM is a program's, which emulates it through the kernel's vTPM proxy",
	"tpm_ibmvtpm":    "the TPM is emulated by IBM's PowerVM or by QEMU",
	"xen_tpmfront":   "the TPM is emulated in another Xen domain",
	"vtpm":           "the TPM is emulated in another Xen domain",
	"tpm_svsm":       "the TPM is emulated by a secure VM service module",
}

// teeDrivers are the kernel's drivers for a TPM in a trusted execution
// environment, whose state may lie in a file of the normal world.
var teeDrivers = map[string]bool{"tpm_ftpm_tee": true, "ftpm_tee": true, "optee_ftpm": true}

// driverName brings the spellings of a driver's name together: module names
// are written with either character.
func driverName(t TPM) string { return strings.ReplaceAll(t.Driver, "-", "_") }

func virtualDriver(f facts) Reason {
	if why := softwareDrivers[driverName(f.tpm)]; why != "" {
		return Reason{Signal: "tpm.driver", Value: f.tpm.Driver, Why: why}
	}
	return Reason{}
}

// virtualDevice covers the resource manager's node as well, which then lies
// under /sys/devices/virtual/tpmrm.
func virtualDevice(f facts) Reason {
	if f.tpm.Device == "" || !strings.HasPrefix(path.Join("/", f.tpm.Device), "/sys/devices/virtual/tpm") {
		return Reason{}
	}
	return Reason{Signal: "tpm.device", Value: f.tpm.Device,
		Why: "the TPM hangs on no hardware: a program emulates it through the kernel's vTPM proxy"}
}

// softwareCAs are parts of the names of the authorities that certify
// endorsement keys of software TPMs.
var softwareCAs = []string{
	"swtpm",                // swtpm-localca, swtpm-tpmca: QEMU, libvirt, Proxmox and others
	"tpm_ek_v1_cloud_host", // Google Compute Engine
	"virtual tpm",          // Azure: "Global Virtual TPM CA - 03", "Azure Cloud Virtual TPM CA - 11"
}

// softwareCA believes a certificate only against itself: nobody verified it,
// and a chip's certificate could be copied.
func softwareCA(f facts) Reason {
	for _, ca := range softwareCAs {
		if strings.Contains(strings.ToLower(f.tpm.EKIssuer), ca) {
			return Reason{Signal: "tpm.ek_issuer", Value: f.tpm.EKIssuer,
				Why: "this authority certifies the endorsement keys of software TPMs"}
		}
	}
	return Reason{}
}

func failureMode(f facts) Reason {
	if !isTrue(f.tpm.FailureMode) {
		return Reason{}
	}
	return Reason{Signal: "tpm.failure_mode", Value: "true",
		Why: "the TPM is in failure mode, where its answers cannot be relied on; power the machine off and on"}
}

func worldOfTEE(f facts) Reason {
	if !teeDrivers[driverName(f.tpm)] {
		return Reason{}
	}
	return Reason{Signal: "tpm.driver", Value: f.tpm.Driver,
		Why: "the TPM runs in a trusted execution environment, and its state may lie in a file that can be put back"}
}

func noManufacturer(f facts) Reason {
	if f.maker != makerNone {
		return Reason{}
	}
	return Reason{Signal: "tpm.manufacturer", Why: "the TPM was not asked, or did not answer, who made it"}
}
