package vtpmdetect

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/opmint/opmint/tpm"
)

// metalMachine is the tree of a desktop with a chip.
func metalMachine(t *testing.T) Machine {
	t.Helper()
	tree, err := parseTree(readTrees(t)["metal-tis"])
	if err != nil {
		t.Fatal(err)
	}
	return tree.machine
}

func hasGap(gaps []Gap, signal, path, why string) bool {
	return slices.ContainsFunc(gaps, func(g Gap) bool {
		return g.Signal == signal && g.Path == path && strings.Contains(g.Why, why)
	})
}

// A chip on metal, whatever certificates are put in its indexes.
func TestGatherCertificates(t *testing.T) {
	certificates := readEKCertificates(t)
	swtpm, unknown := certificates["swtpm-rsa2048.der"], certificates["unknown-ca-p256.der"]
	const unknownCA = `CN=EK CA 003,OU=TPM,O=Example Chips\, Inc.,C=DE`
	for name, tt := range map[string]struct {
		certificates [][]byte
		err          error
		issuer       string
		tpm          TPMKind
		gap          string
	}{
		"none":       {nil, nil, "", TPMPhysical, "no endorsement key certificate was found"},
		"unread":     {nil, errors.New("it smokes"), "", TPMPhysical, "it smokes"},
		"swtpm":      {[][]byte{swtpm}, nil, "CN=swtpm-localca", TPMVirtual, ""},
		"two":        {[][]byte{swtpm, certificates["swtpm-secp384r1.der"]}, nil, "CN=swtpm-localca", TPMVirtual, ""},
		"two makers": {[][]byte{unknown, swtpm}, nil, unknownCA + "; CN=swtpm-localca", TPMVirtual, ""},
		"unknown":    {[][]byte{unknown}, nil, unknownCA, TPMPhysical, ""},
		"garbage":    {[][]byte{[]byte("garbage"), unknown}, nil, unknownCA, TPMPhysical, "no X.509 certificate"},
		"huge":       {[][]byte{append(make([]byte, maxEKCertificate), swtpm...)}, nil, "", TPMPhysical, "more than 65536"},
	} {
		m := metalMachine(t)
		m.TPM.EKCertificates, m.TPM.CertificatesErr = tt.certificates, tt.err
		evidence, gaps := Gather(m)
		if got := Judge(evidence).TPM; got != tt.tpm || evidence.TPM.EKIssuer != tt.issuer {
			t.Errorf("%s: %s of %q, want %s of %q", name, got, evidence.TPM.EKIssuer, tt.tpm, tt.issuer)
		}
		if want := tt.gap != ""; hasGap(gaps, "tpm.ek_issuer", "/dev/tpmrm0", tt.gap) != want {
			t.Errorf("%s: gaps %+v, want one that says %q", name, gaps, tt.gap)
		}
	}
}

func TestGatherTPMThatDoesNotTell(t *testing.T) {
	m := metalMachine(t)
	for want, err := range map[string]error{
		"the TPM was not asked":   nil,
		"no such file":            &fs.PathError{Op: "open", Path: "/dev/tpmrm0", Err: syscall.ENOENT},
		"device or resource busy": &fs.PathError{Op: "open", Path: "/dev/tpmrm0", Err: syscall.EBUSY},
		"it smokes":               errors.New("it smokes"),
	} {
		m.TPM = &OpenedTPM{Address: "/dev/tpmrm0", Err: err}
		evidence, gaps := Gather(m)
		if evidence.TPM == nil || evidence.TPM.Driver != "tpm_tis" || Judge(evidence).TPM != TPMUnknown {
			t.Errorf("%v: evidence %+v", err, evidence.TPM)
		}
		if !hasGap(gaps, "tpm", "/dev/tpmrm0", want) {
			t.Errorf("%v: gaps %+v", err, gaps)
		}
	}
}

// The machine's own TPM could not be named: what the kernel shows remains, and
// it is never taken for none.
func TestGatherAuto(t *testing.T) {
	none, err := parseTree(readTrees(t)["none"])
	if err != nil {
		t.Fatal(err)
	}
	for want, m := range map[string]Machine{"tpm_tis": metalMachine(t), "": none.machine} {
		m.TPM = &OpenedTPM{Address: tpm.Auto, Err: errors.New("no /dev/tpmrm0")}
		evidence, gaps := Gather(m)
		if evidence.TPM == nil || evidence.TPM.Driver != want || !hasGap(gaps, "tpm", "auto", "no /dev/tpmrm0") {
			t.Errorf("evidence %+v, gaps %+v; want driver %q", evidence.TPM, gaps, want)
		}
	}
}

// A TPM that the firmware announces, and no driver for it.
func TestGatherAnnouncedTPM(t *testing.T) {
	none, err := parseTree(append(readTrees(t)["none"], "-- sys/firmware/acpi/tables/TPM2 ! --\n"...))
	if err != nil {
		t.Fatal(err)
	}
	evidence, gaps := Gather(none.machine)
	if evidence.TPM == nil || !hasGap(gaps, "tpm.device", "/sys/firmware/acpi/tables/TPM2", "kernel shows none") {
		t.Errorf("evidence %+v, gaps %+v", evidence.TPM, gaps)
	}
}

func TestGatherDeviceFileOfSomethingElse(t *testing.T) {
	tree, err := parseTree([]byte("-- dev/null = 1:3 --\n-- dev/lost = 1:4 --\n-- dev/log -> ../run/log --\n" +
		"-- sys/dev/char/1:3 -> ../../devices/virtual/mem/null --\n-- sys/devices/virtual/mem/null/dev --\n1:3\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ address, path, why string }{
		{"/dev/null", "/sys/dev/char/1:3", "not a TPM"},
		{"/dev/lost", "/sys/dev/char/1:4", "no such file"},
		{"/dev/log", "/dev/log", "no such file"},
		{"/", "/", "not a character device"},
		{"/../..", "/../..", "not a character device"},
	} {
		tree.machine.TPM = &OpenedTPM{Address: tt.address, Properties: &tpm.Properties{Manufacturer: 0x49465800}}
		evidence, gaps := Gather(tree.machine)
		if evidence.TPM.Device != "" || !hasGap(gaps, "tpm.device", tt.path, tt.why) {
			t.Errorf("%s: device %q, gaps %+v", tt.address, evidence.TPM.Device, gaps)
		}
	}
}

// Vendor strings hold bytes that are no text.
func TestGatherVendorString(t *testing.T) {
	m := metalMachine(t)
	for vendor, want := range map[string]string{
		"":                                    "",
		"\x00\x00\x00\x00":                    "",
		"NPCT75x\x00\x20\x00\x006rls\x00\x00": `NPCT75x\x00 \x00\x006rls`,
		"Pluton.TPM.A\x00\x00\x00\x00":        "Pluton.TPM.A",
		"\xff\xfe":                            `\xff\xfe`,
	} {
		m.TPM.Properties.VendorString = vendor
		evidence, _ := Gather(m)
		if got := *evidence.TPM.VendorString; got != want {
			t.Errorf("%q: %q, want %q", vendor, got, want)
		}
	}
}

// What fstest.MapFS cannot show: a FIFO would block its reader for ever, and
// the kernel follows links by itself.
func TestGatherFromDisk(t *testing.T) {
	root := t.TempDir()
	path := func(name string) string {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for name, content := range map[string]string{
		"sys/devices/virtual/dmi/id/sys_vendor":             "QEMU\n",
		"sys/devices/pnp0/00:05/tpm/tpm0/tpm_version_major": "2\n",
		"sys/bus/pnp/drivers/tpm_tis/uevent":                "",
		"sys/devices/pnp0/00:05/tpmrm/tpmrm0/dev":           "253:65536\n",
		"proc/cpuinfo": "flags\t: fpu\n\n",
	} {
		if err := os.WriteFile(path(name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"sys/class/dmi/id":                       "../../devices/virtual/dmi/id",
		"sys/class/tpm/tpm0":                     "../../devices/pnp0/00:05/tpm/tpm0",
		"sys/class/tpmrm/tpmrm0":                 "../../devices/pnp0/00:05/tpmrm/tpmrm0",
		"sys/devices/pnp0/00:05/tpm/tpm0/device": "../../../00:05",
		"sys/devices/pnp0/00:05/driver":          "../../../bus/pnp/drivers/tpm_tis",
		"sys/devices/virtual/dmi/id/bios_vendor": "bios_vendor",
		"sys/hypervisor/type":                    "/proc/fifo",
	} {
		if err := os.Symlink(target, path(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, fifo := range []string{"proc/fifo", "sys/devices/virtual/dmi/id/product_name"} {
		if err := syscall.Mkfifo(path(fifo), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	evidence, gaps := Gather(Machine{Root: os.DirFS(root)})
	if got := evidence.TPM; got == nil || got.Driver != "tpm_tis" || got.Device != "/sys/devices/pnp0/00:05/tpm/tpm0" {
		t.Errorf("TPM %+v", got)
	}
	if evidence.Host.DMI != (DMI{SysVendor: "QEMU"}) || evidence.Host.CPUHypervisorFlag == nil {
		t.Errorf("host %+v", evidence.Host)
	}
	if !hasGap(gaps, "host.dmi.product_name", "/sys/class/dmi/id/product_name", "not a regular file") ||
		!hasGap(gaps, "host.dmi.bios_vendor", "/sys/class/dmi/id/bios_vendor", "loop") ||
		!hasGap(gaps, "host.sys_hypervisor", "/sys/hypervisor/type", "not a regular file") {
		t.Errorf("gaps %+v", gaps)
	}
}
