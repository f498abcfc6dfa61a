//go:build packages

// Package packaging_test builds the packages as make deb and make rpm do, and
// installs, upgrades and removes them in roots made by debootstrap: without systemd
// running, and under a systemd in namespaces of its own. It needs root, and what
// make setup brings; make test-packages runs it.
package packaging_test

import (
	"crypto/sha256"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The packages of this tree, as it is and as a later version, and its commit.
var (
	deb, rpm, laterDeb, laterRPM string
	commit                       string
	committed                    time.Time
)

// later is the version of the later packages.
const later = "v99.0.0"

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "opmint-packages")
		if err != nil {
			log.Fatal(err)
		}
		defer os.RemoveAll(dir)
		if deb, rpm, err = build("..", filepath.Join(dir, "now")); err != nil {
			log.Print(err)
			return 1
		}
		if laterDeb, laterRPM, err = build("..", filepath.Join(dir, "later"), "VERSION="+later); err != nil {
			log.Print(err)
			return 1
		}
		head, err := exec.Command("git", "log", "-1", "--format=%H %cI").Output()
		if err != nil {
			log.Print(err)
			return 1
		}
		var when string
		commit, when, _ = strings.Cut(strings.TrimSpace(string(head)), " ")
		if committed, err = time.Parse(time.RFC3339, when); err != nil {
			log.Print(err)
			return 1
		}
		return m.Run()
	}())
}

// build makes the packages of the tree in source, and puts them into dir.
func build(source, dir string, settings ...string) (deb, rpm string, err error) {
	cmd := exec.Command("make", append([]string{"deb", "rpm", "DIST=" + dir}, settings...)...)
	cmd.Dir = source
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("%s in %s: %w\n%s", cmd, source, err, out)
	}
	names, err := filepath.Glob(dir + "/*")
	if err != nil || len(names) != 2 || filepath.Ext(names[0]) != ".rpm" || filepath.Ext(names[1]) != ".deb" {
		return "", "", fmt.Errorf("%s made %q (%v), want a .rpm and a .deb", cmd, names, err)
	}
	return names[1], names[0], nil
}

// output runs a command and returns what it printed.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, &stderr)
	}
	return string(out)
}

// unpacked returns a folder with what the .deb holds.
func unpacked(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	output(t, "dpkg-deb", "--extract", deb, dir)
	return dir
}

// TestSameBytes builds the tree once more: elsewhere, and for somebody with another
// umask, language and time zone.
func TestSameBytes(t *testing.T) {
	t.Setenv("LC_ALL", "C")
	t.Setenv("TZ", "Pacific/Apia")
	elsewhere := copyTree(t)
	defer syscall.Umask(syscall.Umask(0o077))
	otherDeb, otherRPM, err := build(elsewhere, filepath.Join(t.TempDir(), "dist"))
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]string{{deb, otherDeb}, {rpm, otherRPM}} {
		if filepath.Base(pair[0]) != filepath.Base(pair[1]) || hash(t, pair[0]) != hash(t, pair[1]) {
			t.Errorf("%s and %s are not the same bytes", pair[0], pair[1])
		}
	}
}

// copyTree returns a clone of the repository, with all changes that it has.
func copyTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	output(t, "git", "clone", "--quiet", "--shared", "..", dir)
	changed := output(t, "git", "-C", "..", "ls-files", "-z", "--modified", "--others", "--exclude-standard")
	for name := range strings.SplitSeq(strings.TrimSuffix(changed, "\x00"), "\x00") {
		from, to := filepath.Join("..", name), filepath.Join(dir, name)
		if _, err := os.Lstat(from); os.IsNotExist(err) {
			output(t, "rm", to)
		} else if name != "" {
			output(t, "install", "-D", "--mode", fmt.Sprintf("%o", mode(t, from)), from, to)
		}
	}
	return dir
}

func mode(t *testing.T, name string) os.FileMode {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func hash(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(content))
}
