package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/opmint/opmint/packaging/manual"
)

// TestManual: the page has an entry for each flag.
func TestManual(t *testing.T) {
	dir := t.TempDir()
	cmd := newCommand(nil)
	if err := manual.Run([]string{dir, "2026-01-31"}, cmd, "v1"); err != nil {
		t.Fatal(err)
	}
	page, err := exec.Command("zcat", filepath.Join(dir, "man/man8/opmintd.8.gz")).Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		entry := `\fB\-\-` + strings.ReplaceAll(f.Name, "-", `\-`) + `\fR`
		if !strings.Contains(string(page), entry) {
			t.Errorf("no entry for --%s:\n%s", f.Name, page)
		}
	})
}
