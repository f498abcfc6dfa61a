package vtpmdetect

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// What Gather finds in the trees of machines, and how Judge judges it.
func TestTrees(t *testing.T) {
	for name, data := range readTrees(t) {
		t.Run(name, func(t *testing.T) {
			tree, err := parseTree(data)
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Evidence any
				Verdict  struct {
					TPM   TPMKind
					Host  HostKind
					Class Class
				}
				Gaps []string
			}
			if err := json.Unmarshal(tree.want, &want); err != nil {
				t.Fatal(err)
			}
			evidence, gaps := Gather(tree.machine)
			if got := reread(t, evidence); !reflect.DeepEqual(got, want.Evidence) {
				t.Errorf("evidence\n%v, want\n%v", got, want.Evidence)
			}
			verdict := Judge(evidence)
			if verdict.TPM != want.Verdict.TPM || verdict.Host != want.Verdict.Host || verdict.Class != want.Verdict.Class {
				t.Errorf("verdict %+v, want %+v", verdict, want.Verdict)
			}
			if want.Gaps != nil {
				checkGaps(t, gaps, want.Gaps)
			}
		})
	}
}

// checkGaps compares with lines such as "signal path: why (root)"; a line
// "host.*" stands for all gaps of the host.
func checkGaps(t *testing.T, gaps []Gap, want []string) {
	t.Helper()
	ignoreHost := slices.Contains(want, "host.*")
	var got []string
	for _, gap := range gaps {
		if ignoreHost && strings.HasPrefix(gap.Signal, "host.") {
			continue
		}
		line := fmt.Sprintf("%s %s: %s", gap.Signal, gap.Path, gap.Why)
		if gap.Root {
			line += " (root)"
		}
		got = append(got, line)
	}
	want = slices.DeleteFunc(slices.Clone(want), func(s string) bool { return s == "host.*" })
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("gaps\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func readTrees(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/trees/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no trees: %v", err)
	}
	trees := make(map[string][]byte)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		trees[strings.TrimSuffix(filepath.Base(file), ".txtar")] = data
	}
	return trees
}

// On whatever machine the tests run: the kernel and the CPU agree.
func TestLocalMachine(t *testing.T) {
	evidence, gaps := Gather(LocalMachine())
	verdict := Judge(evidence)
	if len(verdict.Reasons) == 0 {
		t.Errorf("no reasons for %v", evidence)
	}
	for _, gap := range gaps {
		if gap.Signal == "" || gap.Path == "" || gap.Why == "" {
			t.Errorf("gap without content: %+v", gap)
		}
	}
	if hardwareCPUID == nil {
		return
	}
	data, err := readPrefix(LocalMachine().Root, "proc/cpuinfo", maxCPUInfo)
	if err != nil {
		t.Fatal(err)
	}
	_, ebx, ecx, edx := hardwareCPUID(0, 0)
	vendor := signature(func(_, _ uint32) (a, b, c, d uint32) { return 0, ebx, edx, ecx }, 0)
	if !strings.Contains(string(data), "vendor_id\t: "+vendor+"\n") {
		t.Errorf("CPUID says %q, and /proc/cpuinfo does not", vendor)
	}
	byKernel, ok := cpuinfoFlag(string(data))
	if byCPU, _ := cpuidFlag(hardwareCPUID); !ok || byCPU != byKernel {
		t.Errorf("hypervisor flag: CPUID says %v, /proc/cpuinfo %v (%v)", byCPU, byKernel, ok)
	}
}

func TestCPUInfoFlag(t *testing.T) {
	for text, want := range map[string]struct{ flag, ok bool }{
		"flags\t\t: fpu hypervisor lm\n\n":                  {true, true},
		"flags\t\t: fpu lm\n\n":                             {false, true},
		"flags\t\t: fpu hypervisors\n":                      {false, true},
		"flags\t\t: fpu lm":                                 {false, false}, // cut off
		"flags\t\t: fpu hypervisor lm":                      {true, true},
		"flags\t\t:\n":                                      {false, false},
		"processor\t: 0\n\nflags\t\t: fpu\n":                {false, false}, // of the next CPU
		"vmx flags\t: vnmi\nflags\t\t: fpu\n":               {false, true},
		"vendor_id\t: User Mode Linux\nflags\t\t: fpu lm\n": {true, true},
		"Features\t: fp asimd\n":                            {false, false},
		"":                                                  {false, false},
	} {
		if flag, ok := cpuinfoFlag(text); flag != want.flag || ok != want.ok {
			t.Errorf("%q: %v, %v; want %v", text, flag, ok, want)
		}
	}
}

func TestBounds(t *testing.T) {
	const dmi, acpi = "sys/class/dmi/id/", "sys/bus/acpi/devices/"
	root := fstest.MapFS{
		dmi + "sys_vendor":   {Data: []byte(strings.Repeat("QEMU", maxFile/4) + " ")},
		dmi + "product_name": {Data: []byte(strings.Repeat("QEMU", maxFile/4))},
		"proc/cpuinfo":       {Data: []byte("flags\t: " + strings.Repeat("f ", maxCPUInfo) + "hypervisor\n")},
	}
	for i := range maxEntries + 1 {
		root[fmt.Sprintf("%sX%d/modalias", acpi, i)] = &fstest.MapFile{Data: []byte("acpi:QEMU0002:")}
	}
	evidence, gaps := Gather(Machine{Root: root})
	host := evidence.Host
	if host.DMI.SysVendor != "" || len(host.DMI.ProductName) != maxFile ||
		host.CPUHypervisorFlag != nil || host.ACPIModalias != nil {
		t.Errorf("read more than allowed: %+v", host)
	}
	for _, want := range []string{
		"host.dmi.sys_vendor: more than 4096 bytes",
		"host.acpi_modalias: more than 4096 entries",
		"host.cpu_hypervisor_flag: holds no flags of an x86 CPU",
	} {
		if !slices.ContainsFunc(gaps, func(g Gap) bool { return g.Signal+": "+g.Why == want }) {
			t.Errorf("no gap %q", want)
		}
	}
}

func TestDevices(t *testing.T) {
	tree, err := parseTree(readTrees(t)["several-tpms"])
	if err != nil {
		t.Fatal(err)
	}
	got, err := Devices(tree.machine.Root)
	want := []Device{
		{"/dev/tpm0", "/sys/devices/pnp0/00:07/tpm/tpm0", "tpm_tis", 1},
		{"/dev/tpmrm1", "/sys/devices/platform/MSFT0101:00/tpm/tpm1", "tpm_tis", 2},
		{"/dev/tpmrm10", "/sys/devices/platform/soc/spi0/spi0.0/tpm/tpm10", "tpm_tis_spi", 2},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}

// Any archive is a machine that can be looked at.
func FuzzTree(f *testing.F) {
	for _, data := range readTrees(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			return
		}
		tree, err := parseTree(data)
		if err != nil {
			return
		}
		evidence, _ := Gather(tree.machine)
		text, err := json.Marshal(evidence)
		if err != nil {
			t.Fatal(err)
		}
		if _, ignored, err := ParseReport(text); err != nil || len(ignored) > 0 {
			t.Fatalf("%s: not read back: %v, %q", text, err, ignored)
		}
		Judge(evidence)
	})
}
