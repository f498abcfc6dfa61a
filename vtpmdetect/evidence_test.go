package vtpmdetect

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// evidenceDir holds one report of a machine a file, each with the verdict it
// must get.
const evidenceDir = "../testdata/evidence"

type report struct {
	name     string
	evidence Evidence
	want     struct {
		TPM   TPMKind
		Host  HostKind
		Class Class
	}
}

func readReports(t testing.TB) []report {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(evidenceDir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no evidence files in %s: %v", evidenceDir, err)
	}
	var reports []report
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := report{name: strings.TrimSuffix(filepath.Base(file), ".json")}
		parsed, ignored, err := ParseReport(data)
		if err != nil || len(ignored) > 0 {
			t.Fatalf("%s: error %v, ignored %q", file, err, ignored)
		}
		r.evidence = parsed.Evidence
		if err := json.Unmarshal(data, &struct{ Want any }{&r.want}); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		reports = append(reports, r)
	}
	return reports
}

// What is written is what is read, field for field.
func TestEvidenceFilesAreReadWhole(t *testing.T) {
	for _, r := range readReports(t) {
		data, err := os.ReadFile(filepath.Join(evidenceDir, r.name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Evidence any }
		if err := json.Unmarshal(data, &file); err != nil {
			t.Fatal(err)
		}
		if got := reread(t, r.evidence); !reflect.DeepEqual(got, file.Evidence) {
			t.Errorf("%s: printed as\n%v, read from\n%v", r.name, got, file.Evidence)
		}
	}
}

// reread prints v as JSON and reads it without its type.
func reread(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	return plain
}

func TestEvidenceFormat(t *testing.T) {
	// Every field of the format, as the contract prints it.
	const text = `{"tpm":{"manufacturer":"0x49465800","vendor_string":"SLB9670",` +
		`"firmware":["0x0007003d","0x000ae100"],"spec_revision":116,"clock_update":"0x80000","failure_mode":false,` +
		`"driver":"tpm_tis","device":"/sys/devices/pnp0/00:05/tpm/tpm0","ek_issuer":"CN=x"},` +
		`"host":{"cpu_hypervisor_flag":false,"cpu_hypervisor_vendor":"KVMKVMKVM",` +
		`"dmi":{"sys_vendor":"a","product_name":"b","bios_vendor":"c"},` +
		`"acpi_modalias":["acpi:VMGENCTR:VM_GEN_COUNTER:"],"xen_dom0":false,"hyperv_root":false,` +
		`"sys_hypervisor":"xen","device_tree_hypervisor":"linux,kvm","container":"docker"}}`
	r, ignored, err := ParseReport([]byte(text))
	if err != nil || ignored != nil {
		t.Fatalf("ParseReport: %v, ignored %q", err, ignored)
	}
	got, err := json.Marshal(r.Evidence)
	if err != nil || string(got) != text {
		t.Errorf("printed %s, %v\nwant    %s", got, err, text)
	}
}

func FuzzEvidence(f *testing.F) {
	for _, r := range readReports(f) {
		data, err := os.ReadFile(filepath.Join(evidenceDir, r.name+".json"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, _, err := ParseReport(data)
		if err != nil {
			if !errors.Is(err, ErrNotEvidence) {
				t.Fatalf("refused as %v", err)
			}
			return
		}
		verdict := r.Verdict
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("accepted, but not printed: %v", err)
		}
		again, ignored, err := ParseReport(text)
		if err != nil || len(ignored) > 0 {
			t.Fatalf("printed as %s, not read: %v, ignored %q", text, err, ignored)
		}
		if text2, err := json.Marshal(again); err != nil || string(text2) != string(text) {
			t.Fatalf("%s is read as %s, as read back %s (%v)", data, text, text2, err)
		}
		if verdict.Class == ClassH && (verdict.TPM != TPMPhysical || verdict.Host != HostMetal) {
			t.Fatalf("class h for %v", verdict)
		}
	})
}
