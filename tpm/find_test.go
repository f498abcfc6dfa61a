package tpm

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

// tree is a file tree with these files, and with what each machine has.
func tree(files ...string) fstest.MapFS {
	root := fstest.MapFS{"dev/null": {}, "sys/class/mem/null": {}}
	for _, name := range files {
		root[name] = &fstest.MapFile{Mode: fs.ModeDevice | fs.ModeCharDevice | 0o600}
	}
	return root
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name string
		root fs.FS
		want string // an address, or what the error says
	}{
		{"one", tree("dev/tpm0", "dev/tpmrm0", "sys/class/tpm/tpm0"), "/dev/tpmrm0"},
		{"no sysfs", fstest.MapFS{"dev/tpmrm0": {}}, "/dev/tpmrm0"},
		{"several", tree("dev/tpmrm10", "dev/tpm2", "dev/tpmrm9", "dev/tpm0"), "/dev/tpmrm9"},
		{"a TPM 1.2 beside it", tree("dev/tpm0", "dev/tpm1", "dev/tpmrm1"), "/dev/tpmrm1"},
		{"no resource manager", tree("dev/tpm3", "dev/tpm1"), "name it with --tpm /dev/tpm1;"},
		{"hidden from a container", tree("sys/class/tpm/tpm0"), "/sys/class/tpm/tpm0 shows a TPM"},
		{"no driver", tree("sys/firmware/acpi/tables/TPM2"), "/sys/firmware/acpi/tables/TPM2 shows a TPM"},
		{"no /dev", fstest.MapFS{"sys/class/mem/null": {}}, "cannot tell whether there is a TPM: open dev: "},
		{"no /sys", fstest.MapFS{"dev/null": {}}, "cannot tell whether there is a TPM: open sys/class: "},
	} {
		got, err := find(c.root)
		switch {
		case strings.HasPrefix(c.want, "/dev/"):
			if err != nil || got != c.want {
				t.Errorf("%s: %q, %v, want %s", c.name, got, err, c.want)
			}
		case err == nil || errors.Is(err, ErrNoTPM):
			t.Errorf("%s: %q, %v: there may be a TPM", c.name, got, err)
		case !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--tpm none"):
			t.Errorf("%s: %v, want %s, and what to do", c.name, err, c.want)
		}
	}
}

func TestFindNone(t *testing.T) {
	for name, root := range map[string]fs.FS{
		"none":                  tree(),
		"no entry in the class": tree("sys/class/tpm/nothing"),
		"other names":           tree("dev/tpmrm", "dev/tpmrmx", "dev/tpmrm-1", "dev/tpm0x", "dev/vtpmx"),
	} {
		if got, err := find(root); !errors.Is(err, ErrNoTPM) {
			t.Errorf("%s: %q, %v, want ErrNoTPM", name, got, err)
		}
	}
}

// TestOpenAuto does not depend on whether this machine has a TPM.
func TestOpenAuto(t *testing.T) {
	d, err := Open(Auto)
	if err != nil {
		if !strings.HasPrefix(err.Error(), "open TPM auto: ") {
			t.Error(err)
		}
		return
	}
	if !strings.HasPrefix(d.String(), "/dev/tpmrm") {
		t.Errorf("auto is %s", d)
	}
}

func TestAddresses(t *testing.T) {
	for _, addr := range []string{"", "none", "AUTO", "tpmrm0", "unix:", "tcp:", "tcp:localhost", "udp:localhost:1", ":x"} {
		if d, err := Open(addr); !errors.Is(err, ErrAddress) {
			t.Errorf("%q: %v, %v, want ErrAddress", addr, d, err)
		}
	}
	if _, err := Open("/dev/null/tpm"); err == nil || errors.Is(err, ErrAddress) {
		t.Errorf("an address with nothing behind it: %v", err)
	}
}
