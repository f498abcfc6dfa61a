package vtpmdetect

import (
	"slices"
	"strings"

	"github.com/opmint/opmint/tpm"
)

const (
	signalTPM    = "tpm"
	signalDevice = "tpm.device"
	signalDriver = "tpm.driver"
	signalIssuer = "tpm.ek_issuer"
)

// tpm describes the opened TPM; without one, what the kernel shows.
func (g *gatherer) tpm(o *OpenedTPM) *TPM {
	if o == nil {
		return g.unopened()
	}
	t := &TPM{}
	if strings.HasPrefix(o.Address, "/") {
		if d, ok := g.deviceOf(o.Address); ok {
			g.device(d, t)
		}
	} else if o.Address == tpm.Auto {
		if shown := g.unopened(); shown != nil {
			t = shown
		}
	}
	switch {
	case o.Properties != nil:
		setProperties(t, *o.Properties)
	case o.Err != nil:
		g.failed(signalTPM, o.Address, o.Err)
	default:
		g.gap(signalTPM, o.Address, "the TPM was not asked")
	}
	t.EKIssuer = g.issuers(o)
	return t
}

// issuers names the issuers of all certificates: a TPM has one for each kind
// of key, and any of them can tell of a software TPM.
func (g *gatherer) issuers(o *OpenedTPM) string {
	var names []string
	for _, certificate := range o.EKCertificates {
		if name, err := ekIssuer(certificate); err != nil {
			g.failed(signalIssuer, o.Address, err)
		} else if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch {
	case o.CertificatesErr != nil:
		g.failed(signalIssuer, o.Address, o.CertificatesErr)
	case o.Properties != nil && len(o.EKCertificates) == 0:
		g.gap(signalIssuer, o.Address, "no endorsement key certificate was found in the TPM")
	}
	return strings.Join(names, "; ")
}

func (g *gatherer) unopened() *TPM {
	devices, err := Devices(g.root)
	if err != nil {
		g.failed(signalTPM, "/"+tpmClass, err)
		return &TPM{}
	}
	if len(devices) == 0 {
		for _, sign := range []string{"dev/tpmrm0", "dev/tpm0", "sys/firmware/acpi/tables/TPM2"} {
			if exists(g.root, sign) {
				g.gap(signalDevice, "/"+sign, "it speaks for a TPM, and the kernel shows none in /"+tpmClass)
				return &TPM{}
			}
		}
		return nil
	}
	t := &TPM{}
	d, others := pick(devices)
	g.device(d, t)
	g.gap(signalTPM, d.Path, "the TPM was not opened")
	for _, other := range others {
		g.gap(signalTPM, other.Path, "another TPM of this machine, not looked at: name it with --tpm")
	}
	return t
}

// device takes over what the kernel shows of a TPM.
func (g *gatherer) device(d Device, t *TPM) {
	t.Driver, t.Device = d.Driver, d.SysPath
	if d.Driver == "" {
		g.gap(signalDriver, d.SysPath+"/device/driver", "the device has no driver that can be seen")
	}
	if d.Version == 1 {
		g.gap(signalTPM, d.Path, "a TPM 1.2, which has no counters that opmint can use: opmint needs a TPM 2.0")
	}
}

func setProperties(t *TPM, p tpm.Properties) {
	t.Manufacturer = Word(p.Manufacturer)
	t.VendorString = new(printable(strings.TrimRight(p.VendorString, "\x00")))
	t.Firmware = []Word{Word(p.Firmware[0]), Word(p.Firmware[1])}
	t.SpecRevision = p.SpecRevision
	t.ClockUpdate = Millis(p.ClockUpdate)
	t.FailureMode = new(p.FailureMode)
}
