//go:build packages

package packaging_test

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rpm runs rpm on the root's database; scripts run inside.
func (r *root) rpm(args ...string) string {
	r.t.Helper()
	outside := slices.Concat(r.enter[:slices.Index(r.enter, "chroot")],
		[]string{"rpm", "--force-debian", "--root", r.dir, "--dbpath", "/var/lib/rpm"}, args)
	out, err := exec.Command(outside[0], outside[1:]...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("rpm %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestRPM installs, upgrades and erases the .rpm. The root is a Debian, so it has
// what the package needs, but under other names.
func TestRPM(t *testing.T) {
	r := newRoot(t)
	// Folders of the package filesystem, which all distributions with rpm have.
	r.run("mkdir", "-p", "/usr/share/fish/vendor_completions.d", "/usr/share/licenses", "/usr/share/zsh/site-functions")
	before := r.files()
	r.rpm("--install", "--nodeps", rpm)
	r.wantBuild("")
	r.wantEnabled("enabled")
	r.wantEpoch(1, r.mintByHand())
	r.sameFiles()
	r.rpm("--upgrade", "--nodeps", laterRPM)
	r.wantBuild(later)
	r.wantEnabled("enabled")
	r.wantEpoch(2, r.mintByHand())
	r.rpm("--erase", "opmint")
	r.onlyChanged(before, append(users, state, "/var/lib/rpm")...)
	r.rpm("--install", "--nodeps", rpm)
	r.wantEpoch(3, r.mintByHand())
}

// elsewhere says where a file of the .deb is in the .rpm; "" is nowhere.
var elsewhere = map[string]string{
	"/usr/share/doc/opmint/changelog.gz":         "",
	"/usr/share/doc/opmint/copyright":            "",
	"/usr/share/lintian/overrides/opmint":        "",
	"/usr/share/zsh/vendor-completions/_opmint":  "/usr/share/zsh/site-functions/_opmint",
	"/usr/share/zsh/vendor-completions/_opmintd": "/usr/share/zsh/site-functions/_opmintd",
}

// sameFiles wants the root, where the .rpm is installed, to have the files of the
// .deb, and the package to have no others but its licence.
func (r *root) sameFiles() {
	r.t.Helper()
	from := unpacked(r.t)
	files := map[string]bool{"/usr/share/licenses/opmint/LICENSE": true}
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name := strings.TrimPrefix(path, from)
		if other, ok := elsewhere[name]; ok {
			name = other
		}
		if name == "" {
			return nil
		}
		files[name] = true
		want, err := describe(path)
		if got, _ := describe(r.dir + name); got != want {
			r.t.Errorf("%s is %q in the rpm, %q in the deb", name, got, want)
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	for line := range strings.Lines(output(r.t, "rpm", "--query", "--package", "--queryformat",
		"[%{FILEMODES:perms} %{FILENAMES}\n]", rpm)) {
		permissions, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(permissions, "d") && !files[name] {
			r.t.Errorf("%s is in the rpm and not in the deb", name)
		}
	}
}

func TestRPMDigests(t *testing.T) {
	if out := output(t, "rpm", "--checksig", rpm); !strings.Contains(out, "digests OK") {
		t.Errorf("rpm --checksig: %s", out)
	}
}
