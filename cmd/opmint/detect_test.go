package main

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opmint/opmint/vtpmdetect"
)

// evidenceFiles holds one report of a machine a file, each with the verdict it
// must get, as far as it says one.
const evidenceFiles = "../../testdata/evidence/*.json"

// Every report is judged as the file says, and printed such that it is judged
// so again.
func TestDetectEvidence(t *testing.T) {
	files, err := filepath.Glob(evidenceFiles)
	if err != nil || len(files) == 0 {
		t.Fatalf("no evidence files: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var want struct{ Want vtpmdetect.Verdict }
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		first := detectOutput(t, string(data), "--json")
		var got vtpmdetect.Report
		if err := json.Unmarshal([]byte(first), &got); err != nil {
			t.Fatal(err)
		}
		v, w := got.Verdict, want.Want
		if v.TPM != w.TPM || v.Host != cmp.Or(w.Host, v.Host) || v.Class != cmp.Or(w.Class, v.Class) {
			t.Errorf("%s: verdict %+v, want %+v", file, v, w)
		}
		if second := detectOutput(t, first, "--json"); second != first {
			t.Errorf("%s: printed\n%s\nand of that\n%s", file, first, second)
		}
		if text := detectOutput(t, string(data)); !strings.HasPrefix(text, "class  "+string(v.Class)+": ") {
			t.Errorf("%s: printed\n%s", file, text)
		}
	}
}

// detectOutput returns what detect prints of a report.
func detectOutput(t *testing.T, report string, flags ...string) string {
	t.Helper()
	var stdout, stderr strings.Builder
	args := append([]string{"detect", "--evidence", "-"}, flags...)
	code := run(args, strings.NewReader(report), &stdout, &stderr)
	if code != exitDone || stderr.Len() > 0 {
		t.Errorf("%q: exit code %d, said %q", args, code, &stderr)
	}
	return stdout.String()
}

// All that a report can hold is printed for people too.
func TestDetectPrintsAllEvidence(t *testing.T) {
	const report = `{"tpm":{"manufacturer":"0x49465800","vendor_string":"","firmware":["0x0007003d","0x000ae100"],
		"spec_revision":116,"clock_update":"0x80000","failure_mode":false,"driver":"tpm_tis",
		"device":"/sys/devices/pnp0/00:05/tpm/tpm0","ek_issuer":"CN=x"},
		"host":{"cpu_hypervisor_flag":false,"cpu_hypervisor_vendor":"KVMKVMKVM",
		"dmi":{"sys_vendor":"a","product_name":"b","bios_vendor":"c"},"acpi_modalias":["acpi:PNP0C0A:","acpi:PNP0C0C:"],
		"xen_dom0":true,"hyperv_root":false,"sys_hypervisor":"xen","device_tree_hypervisor":"linux,kvm",
		"container":"docker"}}`
	const want = `
Seen:
  tpm.manufacturer             0x49465800
  tpm.vendor_string            ""
  tpm.firmware                 0x0007003d 0x000ae100
  tpm.spec_revision            116
  tpm.clock_update             0x80000
  tpm.failure_mode             false
  tpm.driver                   tpm_tis
  tpm.device                   /sys/devices/pnp0/00:05/tpm/tpm0
  tpm.ek_issuer                CN=x
  host.cpu_hypervisor_flag     false
  host.cpu_hypervisor_vendor   KVMKVMKVM
  host.dmi.sys_vendor          a
  host.dmi.product_name        b
  host.dmi.bios_vendor         c
  host.acpi_modalias           acpi:PNP0C0A: acpi:PNP0C0C:
  host.xen_dom0                true
  host.hyperv_root             false
  host.sys_hypervisor          xen
  host.device_tree_hypervisor  linux,kvm
  host.container               docker
`
	if got := detectOutput(t, report); !strings.HasSuffix(got, want) {
		t.Errorf("printed\n%s\nwant at its end\n%s", got, want)
	}
}
