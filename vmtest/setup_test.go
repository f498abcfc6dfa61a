package vmtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMissingKernelNamesTheRemedy(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := FindKernel()
	wantRemedy(t, err, "no kernel at ../.cache/vm/linux/boot/vmlinuz-*")
}

func TestMissingSystemNamesTheRemedy(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := FindSystem()
	wantRemedy(t, err, "0 files are ../.cache/vm/system-*.ext4")
}

func TestMissingProgramNamesTheRemedy(t *testing.T) {
	swtpm, err := exec.LookPath("swtpm")
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	t.Setenv("PATH", path)
	m := Machine{Folder: t.TempDir(), TPM: "tpm-crb"}

	wantRemedy(t, m.Create(t.Context()), `"qemu-img": executable file not found`)
	_, err = m.Boot(t.Context())
	wantRemedy(t, err, `"swtpm": executable file not found`)

	if err := os.Symlink(swtpm, filepath.Join(path, "swtpm")); err != nil {
		t.Fatal(err)
	}
	_, err = m.Boot(t.Context())
	wantRemedy(t, err, `"qemu-system-x86_64": executable file not found`)
}

func wantRemedy(t *testing.T, err error, what string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", what)
	}
	for _, want := range []string{what, "run vmtest/setup.sh"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q lacks %q", err, want)
		}
	}
}
