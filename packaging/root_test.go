//go:build packages

package packaging_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// root is a small Debian in a folder of its own.
type root struct {
	t     *testing.T
	dir   string
	enter []string // the command that runs a command inside
}

// newRoot returns a Debian that has just been installed. Its systemd does not run;
// each command has its own processes and no network.
func newRoot(t *testing.T) *root {
	t.Helper()
	fresh := strings.TrimSpace(output(t, "testdata/root"))
	r := &root{t: t, dir: filepath.Join(t.TempDir(), "root")}
	output(t, "cp", "-a", "--reflink=auto", fresh, r.dir)
	r.enter = []string{
		"unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--net", "--ipc",
		"--mount-proc=" + r.dir + "/proc", "chroot", r.dir,
	}
	return r
}

// command returns a command that runs inside.
func (r *root) command(args ...string) *exec.Cmd {
	args = slices.Concat(r.enter, []string{"env", "-i", "PATH=/usr/sbin:/usr/bin", "DEBIAN_FRONTEND=noninteractive"}, args)
	return exec.Command(args[0], args[1:]...)
}

// run runs a command inside, and returns what it printed.
func (r *root) run(args ...string) string {
	r.t.Helper()
	cmd := r.command(args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("%q: %v\n%s%s", args, err, out, &stderr)
	}
	return string(out)
}

// install installs a .deb file, or puts it in the place of another version.
func (r *root) install(deb string) {
	r.t.Helper()
	inside := filepath.Join(r.dir, "package.deb")
	output(r.t, "cp", deb, inside)
	r.run("dpkg", "--install", "/package.deb")
	if err := os.Remove(inside); err != nil {
		r.t.Fatal(err)
	}
}

// theirs is what belongs to others and changes with any package: databases, logs
// and caches.
var theirs = []string{
	"/dev/", "/proc/", "/sys/", "/run/", "/tmp/", "/var/tmp/", "/var/cache/", "/var/log/", "/var/lib/dpkg/",
	"/var/lib/rpm/", "/var/lib/systemd/random-seed", "/var/lib/systemd/timers/", "/var/lib/systemd/catalog/",
}

// users are the files with the system's users and groups.
var users = []string{
	"/etc/group", "/etc/group-", "/etc/gshadow", "/etc/gshadow-",
	"/etc/passwd", "/etc/passwd-", "/etc/shadow", "/etc/shadow-",
}

// files returns what there is of each file, folder and link.
func (r *root) files() map[string]string {
	r.t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(r.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, r.dir)
		if slices.Contains(theirs, name+"/") {
			return fs.SkipDir
		}
		if slices.Contains(theirs, name) {
			return nil
		}
		found[name], err = describe(path)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return found
}

// describe returns what a file is: mode, owner and content.
func describe(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	stat := info.Sys().(*syscall.Stat_t)
	what := fmt.Sprintf("%v %d:%d", info.Mode(), stat.Uid, stat.Gid)
	switch {
	case info.Mode().IsRegular():
		content, err := os.ReadFile(path)
		return fmt.Sprintf("%s %x", what, sha256.Sum256(content)), err
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		return what + " " + to, err
	}
	return what, nil
}

// changed returns the names of what is not the same in before and after.
func changed(before, after map[string]string) []string {
	names := make(map[string]bool)
	for name, what := range before {
		names[name] = after[name] != what
	}
	for name, what := range after {
		names[name] = before[name] != what
	}
	maps.DeleteFunc(names, func(_ string, changed bool) bool { return !changed })
	return slices.Sorted(maps.Keys(names))
}

// onlyChanged wants that nothing has changed since before but what is named, and
// what is in the named folders.
func (r *root) onlyChanged(before map[string]string, named ...string) {
	r.t.Helper()
	for _, name := range changed(before, r.files()) {
		if !slices.ContainsFunc(named, func(n string) bool { return name == n || strings.HasPrefix(name, n+"/") }) {
			r.t.Errorf("%s is not as it was", name)
		}
	}
}
