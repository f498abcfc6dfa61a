package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/opmint/opmint/packaging/manual"
)

// TestManual: each command has a page, which has an entry for each of its flags.
func TestManual(t *testing.T) {
	dir := t.TempDir()
	all := commands(t)
	if err := manual.Run([]string{dir, "2026-01-31"}, all[0], "v1"); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range all {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		page, err := exec.Command("zcat", filepath.Join(dir, "man/man1", name+".1.gz")).Output()
		if err != nil {
			t.Fatalf("%s has no page: %v", name, err)
		}
		cmd.InitDefaultHelpFlag()
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			entry := `\fB\-\-` + strings.ReplaceAll(f.Name, "-", `\-`) + `\fR`
			if !strings.Contains(string(page), entry) {
				t.Errorf("%s has no entry for --%s:\n%s", name, f.Name, page)
			}
		})
	}
}
