package vtpmdetect

import (
	"encoding/json"
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
		var ignored []string
		r.evidence, ignored, err = ParseEvidence(data)
		if err != nil || len(ignored) > 0 {
			t.Fatalf("%s: error %v, ignored %q", file, err, ignored)
		}
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
	e, ignored, err := ParseEvidence([]byte(text))
	if err != nil || ignored != nil {
		t.Fatalf("ParseEvidence: %v, ignored %q", err, ignored)
	}
	got, err := json.Marshal(e)
	if err != nil || string(got) != text {
		t.Errorf("printed %s, %v\nwant    %s", got, err, text)
	}
}

func TestParseEvidence(t *testing.T) {
	for _, tt := range []struct {
		text    string
		tpm     TPMKind
		ignored string
		err     string // part of the error's text
	}{
		{text: `{"tpm":null}`, tpm: TPMNone},
		{text: `{"tpm":{}}`, tpm: TPMUnknown},
		{text: `{"host":{}}`, tpm: TPMUnknown},
		{text: `{}`, tpm: TPMUnknown},
		{text: `{"evidence":{"tpm":null},"verdict":{"tpm":"physical"}}`, tpm: TPMNone},
		{text: `{"evidence":null}`, tpm: TPMUnknown},
		{text: `{"tpm":null,"host":null}`, tpm: TPMNone},
		{text: `{"tpm":{"manufacturer":"0x1"}}`, tpm: TPMUnknown},
		{text: `{"tpm":null,"colour":1,"host":{"moon":{"phase":2},"dmi":{"board":"b"}}}`, tpm: TPMNone,
			ignored: "colour host.dmi.board host.moon"},
		{text: `{"TPM":null}`, err: `"TPM" must be written "tpm"`},
		{text: `{"host":{"dmi":{"Sys_Vendor":"QEMU"}}}`, err: `"host.dmi.Sys_Vendor" must be written "host.dmi.sys_vendor"`},
		{text: `{"tpm":{"manufacturer":1229346816}}`, err: "manufacturer"},
		{text: `{"tpm":{"manufacturer":"IFX"}}`, err: "hexadecimal"},
		{text: `{"tpm":{"manufacturer":"49465800"}}`, err: "hexadecimal"},
		{text: `{"tpm":{"manufacturer":"0x"}}`, err: "hexadecimal"},
		{text: `{"tpm":{"manufacturer":"0x-1"}}`, err: "hexadecimal"},
		{text: `{"tpm":{"clock_update":"0x000001000"}}`, err: "hexadecimal"},
		{text: `{"tpm":{"firmware":"0x1"}}`, err: "firmware"},
		{text: `{"host":{"cpu_hypervisor_flag":"false"}}`, err: "cpu_hypervisor_flag"},
		{text: `[]`, err: "not a JSON object"},
		{text: `{"evidence":[]}`, err: "not a JSON object"},
		{text: `{"tpm":null} {}`, err: "not a JSON object"},
		{text: ``, err: "not a JSON object"},
		{text: `"` + strings.Repeat("x", maxEvidence) + `"`, err: "more than"},
	} {
		e, ignored, err := ParseEvidence([]byte(tt.text))
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%.80s: error %v, want one with %q", tt.text, err, tt.err)
			}
		case err != nil:
			t.Errorf("%s: %v", tt.text, err)
		case strings.Join(ignored, " ") != tt.ignored || Judge(e).TPM != tt.tpm:
			t.Errorf("%s: %v, ignored %q; want %v, %q", tt.text, Judge(e).TPM, ignored, tt.tpm, tt.ignored)
		}
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
		e, _, err := ParseEvidence(data)
		if err != nil {
			return
		}
		verdict := Judge(e)
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("accepted, but not printed: %v", err)
		}
		again, ignored, err := ParseEvidence(text)
		if err != nil || len(ignored) > 0 {
			t.Fatalf("printed as %s, not read: %v, ignored %q", text, err, ignored)
		}
		if got := Judge(again); !reflect.DeepEqual(got, verdict) {
			t.Fatalf("%s is judged %v, as read back %v", data, verdict, got)
		}
		if verdict.Class == ClassH && (verdict.TPM != TPMPhysical || verdict.Host != HostMetal) {
			t.Fatalf("class h for %v", verdict)
		}
	})
}
