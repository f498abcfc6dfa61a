package vtpmdetect

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestParseReport(t *testing.T) {
	for _, tt := range []struct {
		text    string
		tpm     TPMKind
		ignored string
	}{
		{text: `{"tpm":null}`, tpm: TPMNone},
		{text: `{"tpm":{}}`, tpm: TPMUnknown},
		{text: `{"host":{}}`, tpm: TPMUnknown},
		{text: `{}`, tpm: TPMUnknown},
		{text: `{"evidence":{"tpm":null},"verdict":{"tpm":"physical"},"note":[]}`, tpm: TPMNone},
		{text: `{"evidence":{"tpm":null},"gaps":null}`, tpm: TPMNone},
		{text: `{"evidence":null}`, tpm: TPMUnknown},
		{text: `{"tpm":null,"host":null}`, tpm: TPMNone},
		{text: `{"tpm":{"manufacturer":null}}`, tpm: TPMUnknown},
		{text: `{"tpm":{"manufacturer":"0x1"}}`, tpm: TPMUnknown},
		{text: `{"tpm":null,"gaps":[]}`, tpm: TPMNone, ignored: "gaps"},
		{text: `{"tpm":null,"colour":1,"host":{"moon":{"phase":2},"dmi":{"board":"b"}}}`, tpm: TPMNone,
			ignored: "colour host.dmi.board host.moon"},
	} {
		r, ignored, err := ParseReport([]byte(tt.text))
		if err != nil || strings.Join(ignored, " ") != tt.ignored || r.Verdict.TPM != tt.tpm {
			t.Errorf("%s: %v, ignored %q, %v; want %v, %q", tt.text, r.Verdict.TPM, ignored, err, tt.tpm, tt.ignored)
		}
	}
}

func TestParseReportRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"TPM":null}`:                                 `field "TPM" must be spelt "tpm"`,
		`{"Evidence":{"tpm":null}}`:                    `field "Evidence" must be spelt "evidence"`,
		`{"host":{"dmi":{"Sys_Vendor":"QEMU"}}}`:       `field "host.dmi.Sys_Vendor" must be spelt "sys_vendor"`,
		`{"tpm":{"manufacturer":1229346816}}`:          `field "tpm.manufacturer" must be a string`,
		`{"tpm":{"manufacturer":"IFX"}}`:               `field "tpm.manufacturer": "IFX" is not 0x and one to eight`,
		`{"tpm":{"manufacturer":"49465800"}}`:          `hexadecimal`,
		`{"tpm":{"manufacturer":"0x"}}`:                `hexadecimal`,
		`{"tpm":{"manufacturer":"0x-1"}}`:              `hexadecimal`,
		`{"tpm":{"clock_update":"0x000001000"}}`:       `field "tpm.clock_update": "0x000001000" is not`,
		`{"tpm":{"firmware":"0x1"}}`:                   `field "tpm.firmware" must be a list`,
		`{"tpm":{"firmware":["0x1","x"]}}`:             `field "tpm.firmware[1]": "x" is not`,
		`{"tpm":{"spec_revision":-1}}`:                 `field "tpm.spec_revision" must be a number from 0 to 4294967295`,
		`{"tpm":{"driver":1}}`:                         `field "tpm.driver" must be a string`,
		`{"tpm":[]}`:                                   `field "tpm" must be an object`,
		`{"host":{"cpu_hypervisor_flag":"false"}}`:     `field "host.cpu_hypervisor_flag" must be true or false`,
		`{"evidence":{},"gaps":{}}`:                    `field "gaps" must be a list`,
		`{"evidence":{},"gaps":[{"root":1}]}`:          `field "gaps[0].root" must be true or false`,
		`{"evidence":[]}`:                              `field "evidence" must be an object`,
		`{"tpm":null,"tpm":{}}`:                        `field "tpm" stands there twice`,
		`{"tpm":null,"\u0074pm":null}`:                 `field "tpm" stands there twice`,
		`{"evidence":{},"note":1,"evidence":{}}`:       `field "evidence" stands there twice`,
		`{"evidence":{"tpm":null,"tpm":null}}`:         `field "tpm" stands there twice`,
		`{"tpm":{"driver":"a","driver":"a"}}`:          `field "tpm.driver" stands there twice`,
		`{"host":{"dmi":{"board":1,"board":2}}}`:       `field "host.dmi.board" stands there twice`,
		`{"evidence":{},"gaps":[{"why":"","why":""}]}`: `field "gaps[0].why" stands there twice`,
		`[]`:   `not a JSON object`,
		`null`: `not a JSON object`,
		"{\n \"tpm\": {\n  \"driver\": tpm_tis\n }}": `line 3: invalid character`,
		"{\"tpm\":null}\n{}":                         `line 2: invalid character`,
		"{\"tpm\":null,\n\n":                         `line 3: unexpected end`,
		``:                                           `line 1: unexpected end`,
		`"` + strings.Repeat("x", MaxReport) + `"`: `more than 1048576 bytes`,
	} {
		r, ignored, err := ParseReport([]byte(text))
		if !errors.Is(err, ErrNotEvidence) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: error %v, want one with %q", text, err, want)
		}
		if !reflect.DeepEqual(r, Report{}) || ignored != nil {
			t.Errorf("%.80s: refused, and yet read as %v, ignored %q", text, r, ignored)
		}
	}
}

// A report that was saved is a report that can be judged.
func TestReportRoundTrip(t *testing.T) {
	for name, data := range readTrees(t) {
		tree, err := parseTree(data)
		if err != nil {
			t.Fatal(err)
		}
		report := Examine(tree.machine)
		text, err := json.Marshal(report)
		if err != nil {
			t.Fatal(err)
		}
		got, ignored, err := ParseReport(text)
		if err != nil || ignored != nil || !reflect.DeepEqual(got, report) {
			t.Errorf("%s: read back as %+v, ignored %q, %v; want %+v", name, got, ignored, err, report)
		}
	}
}

// TestDoubt: of what looks physical, only what the kernel shows as a device stays so.
func TestDoubt(t *testing.T) {
	for _, c := range []struct {
		seen *TPM
		was  TPMKind
		want TPMKind
	}{
		{&TPM{Device: "/sys/devices/pnp0/00:05/tpm/tpm0"}, TPMPhysical, TPMPhysical},
		{&TPM{}, TPMPhysical, TPMUnknown},
		{nil, TPMPhysical, TPMUnknown},
		{&TPM{}, TPMVirtual, TPMVirtual},
		{nil, TPMNone, TPMNone},
	} {
		class := ClassV
		if c.was == TPMPhysical {
			class = ClassH
		}
		known := Reason{Signal: "tpm.manufacturer", Says: string(c.was)}
		r := Report{Evidence: Evidence{TPM: c.seen}, Verdict: Verdict{TPM: c.was, Class: class, Reasons: []Reason{known}}}
		r.Doubt()
		v := r.Verdict
		doubted := c.want != c.was
		if v.TPM != c.want || (v.Class == ClassH) != (c.want == TPMPhysical) || v.Reasons[len(v.Reasons)-1] != known ||
			(len(v.Reasons) == 2) != doubted || doubted && v.Reasons[0].Signal != "tpm.device" {
			t.Errorf("%+v, %s: %+v, want %s", c.seen, c.was, v, c.want)
		}
	}
}
