// Package packaging_test holds what systemd itself says of the units. What they do under
// a real systemd, package vmtest tries.
package packaging_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// units copies units to a folder of their own, where the daemon that they start exists,
// and returns their paths.
func units(t *testing.T, folder string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "opmintd.*"))
	if err != nil || len(names) != 2 {
		t.Fatalf("%s has the units %q, %v, want a socket and a service", folder, names, err)
	}
	dir := t.TempDir()
	for i, name := range names {
		text := strings.ReplaceAll(read(t, name), "/usr/bin/opmintd", "/bin/true")
		names[i] = filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(names[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// analyze runs systemd-analyze, which has to be content.
func analyze(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	var out, complaints strings.Builder
	cmd := exec.Command("systemd-analyze", args...)
	cmd.Stdout, cmd.Stderr = &out, &complaints
	// Where a user's manager looks for units, and makes nothing.
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	if err := cmd.Run(); err != nil || complaints.Len() > 0 {
		t.Errorf("systemd-analyze %s: %v (make setup installs it)\n%s%s", strings.Join(args, " "), err, &out, &complaints)
	}
	return out.String()
}

func TestUnitsAreSound(t *testing.T) {
	analyze(t, append([]string{"verify", "--man=no"}, units(t, "systemd")...)...)
	analyze(t, append([]string{"verify", "--man=no", "--user"}, units(t, "systemd/user")...)...)
}

// TestSandbox: an exposure of 1.0 at most, of 10, and for whatever makes it up a comment
// in the unit.
func TestSandbox(t *testing.T) {
	const threshold = "10" // tenths
	const unit = "systemd/opmintd.service"
	var rows []struct {
		Name     string
		Set      *bool // nil: it does not apply
		Exposure *string
	}
	report := analyze(t, "security", "--offline=yes", "--threshold="+threshold, "--json=short", unit)
	if err := json.Unmarshal([]byte(report), &rows); err != nil || len(rows) < 50 {
		t.Fatalf("the report has %d rows: %v\n%s", len(rows), err, report)
	}
	var comments strings.Builder
	for line := range strings.Lines(read(t, unit)) {
		if strings.HasPrefix(line, "#") {
			comments.WriteString(line)
		}
	}
	for _, row := range rows {
		setting, _, _ := strings.Cut(row.Name, "=")
		if row.Exposure != nil && !strings.Contains(comments.String(), setting+"=") {
			t.Errorf("%s: an exposure of %s, and no comment in %s says why", row.Name, *row.Exposure, unit)
		}
	}
}
