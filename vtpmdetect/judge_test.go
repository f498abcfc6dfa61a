package vtpmdetect

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestEvidenceFiles(t *testing.T) {
	for _, r := range readReports(t) {
		got := Judge(r.evidence)
		if got.TPM != r.want.TPM {
			t.Errorf("%s: TPM is %s, want %s: %+v", r.name, got.TPM, r.want.TPM, got.Reasons)
		}
		if r.want.Host != "" && (got.Host != r.want.Host || got.Class != r.want.Class) {
			t.Errorf("%s: host %s, class %s; want %s, %s", r.name, got.Host, got.Class, r.want.Host, r.want.Class)
		}
		want := map[TPMKind]Class{TPMPhysical: ClassH, TPMNone: ClassJ}[got.TPM]
		if want == "" {
			want = ClassV
		}
		if got.Class != want {
			t.Errorf("%s: a TPM that is %s gives class %s", r.name, got.TPM, got.Class)
		}
	}
}

// Every rule, and every signal in it, decides some file.
func TestEveryRuleIsReached(t *testing.T) {
	reached := make(map[string]bool)
	mark := func(rule string, reasons []Reason) bool {
		for _, r := range reasons {
			reached[rule+"/"+r.Signal] = true
		}
		return len(reasons) > 0
	}
	for _, r := range readReports(t) {
		f := factsOf(r.evidence)
		f.kind = Judge(r.evidence).Host
		for _, rule := range tpmRules {
			if mark("tpm "+rule.name, rule.reasons(f)) {
				break
			}
		}
		for _, rule := range hostRules {
			if mark("host "+rule.name, rule.reasons(f)) {
				break
			}
		}
	}
	want := strings.Split(strings.TrimSpace(`
tpm none/tpm
tpm virtual by place/tpm.driver
tpm virtual by place/tpm.device
tpm virtual by place/tpm.ek_issuer
tpm unknown by state/tpm.failure_mode
tpm unknown by state/tpm.driver
tpm unknown by state/tpm.manufacturer
tpm virtual by maker/tpm.manufacturer
tpm shared/tpm.manufacturer
tpm unknown/tpm.manufacturer
tpm unknown/tpm.clock_update
tpm unknown/host
tpm physical/tpm.manufacturer
host vm by device or product/host.acpi_modalias
host vm by device or product/host.device_tree_hypervisor
host vm by device or product/host.dmi.product_name
host vm by device or product/host.dmi.sys_vendor
host vm by device or product/host.dmi.bios_vendor
host metal below a hypervisor/host.xen_dom0
host metal below a hypervisor/host.hyperv_root
host metal below a hypervisor/host.dmi.product_name
host vm by hypervisor/host.cpu_hypervisor_flag
host vm by hypervisor/host.cpu_hypervisor_vendor
host vm by hypervisor/host.sys_hypervisor
host metal by flag/host.cpu_hypervisor_flag
host unknown/host.cpu_hypervisor_flag`), "\n")
	for _, rule := range want {
		if !reached[rule] {
			t.Errorf("no evidence file reaches %q", rule)
		}
	}
	for _, rule := range tpmRules {
		if !strings.Contains(strings.Join(want, "\n"), "tpm "+rule.name+"/") {
			t.Errorf("rule %q is not in the list above", rule.name)
		}
	}
	for _, rule := range hostRules {
		if !strings.Contains(strings.Join(want, "\n"), "host "+rule.name+"/") {
			t.Errorf("rule %q is not in the list above", rule.name)
		}
	}
}

// The deciding reasons stand first, and what contradicts them is not kept back.
func TestReasons(t *testing.T) {
	e := Evidence{
		TPM: &TPM{Manufacturer: 0x49424d00, VendorString: new("SW   TPM"), ClockUpdate: 0x1000, EKIssuer: "CN=swtpm-localca"},
		Host: Host{CPUHypervisorFlag: new(false), CPUHypervisorVendor: "KVMKVMKVM",
			DMI: DMI{SysVendor: "Dell Inc.", ProductName: "OptiPlex 7080"}},
	}
	var got []string
	for _, r := range Judge(e).Reasons {
		got = append(got, r.Signal+"="+r.Value+" says "+r.Says)
		if r.Why == "" || strings.HasSuffix(r.Why, " ") || strings.Contains(r.Why, "%") {
			t.Errorf("%s: why is %q", r.Signal, r.Why)
		}
	}
	want := []string{
		"tpm.ek_issuer=CN=swtpm-localca says virtual",
		"host.cpu_hypervisor_vendor=KVMKVMKVM says vm",
		"tpm.manufacturer=0x49424d00 says virtual",
		"tpm.clock_update=0x1000 says unknown",
		"host.cpu_hypervisor_flag=false says metal",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("reasons\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestVerdictFormat(t *testing.T) {
	got, err := json.Marshal(Judge(Evidence{Host: Host{CPUHypervisorFlag: new(false)}}))
	const want = `{"tpm":"none","host":"metal","class":"j","reasons":[` +
		`{"signal":"tpm","value":"","says":"none","why":"there is no TPM"},` +
		`{"signal":"host.cpu_hypervisor_flag","value":"false","says":"metal",` +
		`"why":"the CPU says that no hypervisor runs it"}]}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

// Details of single rules that no evidence file can show.
func TestRules(t *testing.T) {
	metal, vm := Host{CPUHypervisorFlag: new(false)}, Host{SysHypervisor: "xen"}
	chip := func(change func(*TPM)) TPM { t := TPM{Manufacturer: 0x49465800}; change(&t); return t }
	driver := func(name string) TPM { return chip(func(t *TPM) { t.Driver = name }) }
	device := func(path string) TPM { return chip(func(t *TPM) { t.Device = path }) }
	issuer := func(name string) TPM { return chip(func(t *TPM) { t.EKIssuer = name }) }
	microsoft := func(vendor string) TPM { return TPM{Manufacturer: idMicrosoft, VendorString: &vendor} }
	for name, tt := range map[string]struct {
		tpm  TPM
		host Host
		want TPMKind
	}{
		"module name of xen-tpmfront":  {driver("xen_tpmfront"), metal, TPMVirtual},
		"sysfs name of xen-tpmfront":   {driver("vtpm"), metal, TPMVirtual},
		"proxy by name":                {driver("tpm_vtpm_proxy"), metal, TPMVirtual},
		"svsm":                         {driver("tpm-svsm"), metal, TPMVirtual},
		"ftpm-tee":                     {driver("ftpm-tee"), metal, TPMUnknown},
		"tpm_ftpm_tee":                 {driver("tpm_ftpm_tee"), metal, TPMUnknown},
		"optee-ftpm":                   {driver("optee-ftpm"), metal, TPMUnknown},
		"driver of a chip":             {driver("tpm_tis_spi"), metal, TPMPhysical},
		"resource manager of a proxy":  {device("/sys/devices/virtual/tpmrm/tpmrm1"), metal, TPMVirtual},
		"device path not clean":        {device("/sys//devices/./virtual/tpm/tpm1"), metal, TPMVirtual},
		"device on a bus":              {device("/sys/devices/pnp0/00:05/tpm/tpm0"), metal, TPMPhysical},
		"issuer in capitals":           {issuer("CN=SWTPM-LOCALCA"), metal, TPMVirtual},
		"issuer unknown":               {issuer("CN=Honest Chips"), metal, TPMPhysical},
		"failure mode before maker":    {TPM{Manufacturer: 0x49424d00, FailureMode: new(true)}, metal, TPMUnknown},
		"driver before failure mode":   {TPM{FailureMode: new(true), Driver: "vtpm"}, metal, TPMVirtual},
		"no failure":                   {chip(func(t *TPM) { t.FailureMode = new(false) }), metal, TPMPhysical},
		"Pluton filled up with NUL":    {microsoft("Pluton.TPM.A\x00\x00\x00\x00"), metal, TPMPhysical},
		"Pluton and more":              {microsoft("Pluton.TPM.AB"), metal, TPMUnknown},
		"Pluton on VM":                 {microsoft("Pluton.TPM.A"), vm, TPMShared},
		"Pluton's string of another":   {TPM{Manufacturer: 0x49424d00, VendorString: new("Pluton.TPM.A")}, metal, TPMVirtual},
		"Microsoft, new string, on VM": {microsoft("x"), vm, TPMVirtual},
		"ambiguous maker on VM":        {TPM{Manufacturer: 0x48504500}, vm, TPMUnknown},
		"IBM with NUL":                 {TPM{Manufacturer: 0x49424d00}, metal, TPMVirtual},
		"IBM with space":               {TPM{Manufacturer: 0x49424d20}, metal, TPMVirtual},
		"software clock on VM":         {chip(func(t *TPM) { t.ClockUpdate = 0x1000 }), vm, TPMShared},
		"clock of a chip, near":        {chip(func(t *TPM) { t.ClockUpdate = 0x1001 }), metal, TPMPhysical},
	} {
		if got := Judge(Evidence{TPM: &tt.tpm, Host: tt.host}); got.TPM != tt.want {
			t.Errorf("%s: %s, want %s: %v", name, got.TPM, tt.want, got.Reasons)
		}
	}
}

func TestManufacturers(t *testing.T) {
	classes := make(map[string]int)
	for _, m := range manufacturers() {
		classes[m.Class]++
	}
	want := map[string]int{"discrete": 18, "firmware": 3, "virtual": 24, "ambiguous": 7}
	if !reflect.DeepEqual(classes, want) {
		t.Errorf("manufacturers.json has %v, want %v", classes, want)
	}
}
