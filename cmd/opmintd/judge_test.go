package main

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/tpm"
	"github.com/opmint/opmint/vtpmdetect"
)

// chipOnMetal is the evidence of a physical TPM.
func chipOnMetal() vtpmdetect.Evidence {
	vendor, no := "SLB9670", false
	return vtpmdetect.Evidence{
		TPM: &vtpmdetect.TPM{
			Manufacturer: 0x49465800, VendorString: &vendor, SpecRevision: 138, ClockUpdate: 0x80000,
			Driver: "tpm_tis", Device: "/sys/devices/pnp0/00:05/tpm/tpm0",
		},
		Host: vtpmdetect.Host{CPUHypervisorFlag: &no},
	}
}

func TestConclude(t *testing.T) {
	chip, soft, faceless := chipOnMetal(), chipOnMetal(), chipOnMetal()
	soft.TPM.Manufacturer = 0x49424d00
	faceless.TPM.Driver, faceless.TPM.Device = "", "" // as the kernel shows a socket, or a file that is no TPM's
	for _, c := range []struct {
		evidence vtpmdetect.Evidence
		addr     string // "" is none
		assume   string
		class    keygen.Class
		tpm      vtpmdetect.TPMKind // that the verdict says
	}{
		{chip, "/dev/null", "", keygen.ClassH, vtpmdetect.TPMPhysical},
		{chip, "/dev/null", "virtual", keygen.ClassV, vtpmdetect.TPMPhysical},
		{faceless, "/dev/null", "", keygen.ClassV, vtpmdetect.TPMUnknown},
		{soft, "/dev/null", "", keygen.ClassV, vtpmdetect.TPMVirtual},
		{soft, "/dev/null", "physical", keygen.ClassH, vtpmdetect.TPMVirtual},
		{faceless, "unix:/sock", "", keygen.ClassV, vtpmdetect.TPMUnknown},
		{faceless, "tcp:localhost:1", "", keygen.ClassV, vtpmdetect.TPMUnknown},
		{faceless, "tcp:localhost:1", "physical", keygen.ClassH, vtpmdetect.TPMUnknown},
		{soft, "unix:/sock", "", keygen.ClassV, vtpmdetect.TPMVirtual},
		// The operator wants none: that there is one does not matter.
		{chip, "", "", keygen.ClassJ, vtpmdetect.TPMPhysical},
	} {
		report := vtpmdetect.Report{Evidence: c.evidence, Verdict: vtpmdetect.Judge(c.evidence)}
		var device *tpm.Device
		if c.addr != "" {
			var err error
			if device, err = tpm.Open(c.addr); err != nil {
				t.Fatal(err)
			}
		}
		j := (&options{assume: choice{value: c.assume}}).conclude(report, device)
		v := j.report.Verdict
		if j.class != c.class || j.assumed != (c.assume != "") || v.TPM != c.tpm || (v.Class == "h") != (v.TPM == "physical") {
			t.Errorf("%s at %q, assumed %q: class %s, %v; verdict %+v", v.TPM, c.addr, c.assume, j.class, j.assumed, v)
		}
	}
}

// TestTell: what class h rests on and nobody has seen is a warning.
func TestTell(t *testing.T) {
	hidden := vtpmdetect.Gap{
		Signal: "host.dmi.sys_vendor", Path: "/sys/class/dmi/id/sys_vendor", Why: "permission denied", Root: true,
	}
	missing := vtpmdetect.Gap{Signal: "host.sys_hypervisor", Path: "/sys/hypervisor/type", Why: vtpmdetect.NoSuchFile}
	for _, c := range []struct {
		class   keygen.Class
		assumed bool
		gaps    []vtpmdetect.Gap
		warns   string
	}{
		{keygen.ClassH, false, []vtpmdetect.Gap{missing}, ""},
		{keygen.ClassH, false, []vtpmdetect.Gap{missing, hidden}, "unseen=\"host.dmi.sys_vendor (/sys/class/dmi/id/sys_vendor)\""},
		{keygen.ClassV, false, []vtpmdetect.Gap{hidden}, ""},
		{keygen.ClassH, true, nil, "the class is the operator's word"},
		{keygen.ClassV, true, nil, "the class is the operator's word"},
	} {
		e := chipOnMetal()
		j := judgement{c.class, c.assumed, vtpmdetect.Report{Evidence: e, Verdict: vtpmdetect.Judge(e), Gaps: c.gaps}}
		var log strings.Builder
		j.tell(slog.New(slog.NewTextHandler(&log, nil)))
		if !strings.Contains(log.String(), "tpm=physical host=metal verdict=h reasons=") ||
			strings.Contains(log.String(), "level=WARN") != (c.warns != "") || !strings.Contains(log.String(), c.warns) {
			t.Errorf("%+v is logged as\n%s", c, log.String())
		}
	}
}
