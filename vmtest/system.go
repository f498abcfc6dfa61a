package vmtest

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// systems is where setup.sh puts the disk with a system, seen from this package's folder.
const systems = "../.cache/vm/system-*.ext4"

// FindSystem returns the path of the disk that setup.sh has made: a small Debian, with systemd as its first program.
func FindSystem() (string, error) {
	found, err := filepath.Glob(systems)
	if err != nil {
		return "", fmt.Errorf("look for a system: %w", err)
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%d files are %s, want one: run vmtest/setup.sh, which makes it of Debian's packages",
			len(found), systems)
	}
	return found[0], nil
}

// installed is what a package of opmint would put into a system, by folder, and below it the guest program.
var installed = []struct {
	files, folder string // the files seen from this package's folder
	mode          int64
}{
	{"../packaging/systemd/opmintd.*", "usr/lib/systemd/system", 0o644},
	{"../packaging/systemd/user/opmintd.*", "usr/lib/systemd/user", 0o644},
	{"../packaging/sysusers.d/*.conf", "usr/lib/sysusers.d", 0o644},
	{"../packaging/tmpfiles.d/*.conf", "usr/lib/tmpfiles.d", 0o644},
	{"../packaging/udev/*.rules", "usr/lib/udev/rules.d", 0o644},
	{"testdata/guest.service", "etc/systemd/system", 0o644},
}

// BuildSystem writes to path an initramfs which installs into a system what the packages would, with the programs that
// Compile has put into folder, and then boots it.
func BuildSystem(kernel, folder, path string) error {
	var archive bytes.Buffer
	entries := tar.NewWriter(&archive)
	for _, p := range programs {
		name := filepath.Base(p.source)
		if err := pack(entries, filepath.Join(folder, name), "usr/bin", 0o755); err != nil {
			return err
		}
	}
	for _, i := range installed {
		found, err := filepath.Glob(i.files)
		if err != nil || len(found) == 0 {
			return fmt.Errorf("build the system: no %s (%v)", i.files, err)
		}
		for _, name := range found {
			if err := pack(entries, name, i.folder, i.mode); err != nil {
				return err
			}
		}
	}
	const wanted = "etc/systemd/system/multi-user.target.wants/guest.service"
	link := tar.Header{Typeflag: tar.TypeSymlink, Name: wanted, Linkname: "/etc/systemd/system/guest.service"}
	if err := entries.WriteHeader(&link); err != nil {
		return fmt.Errorf("build the system: %w", err)
	}
	if err := entries.Close(); err != nil {
		return fmt.Errorf("build the system: %w", err)
	}
	first, err := os.ReadFile(filepath.Join(folder, "guest"))
	if err != nil {
		return fmt.Errorf("build the system: %w", err)
	}
	return writeInitramfs(kernel, path, []file{{"init", first}, {"system.tar", archive.Bytes()}})
}

// pack adds a file to an archive.
func pack(entries *tar.Writer, name, folder string, mode int64) error {
	content, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("build the system: %w", err)
	}
	header := tar.Header{Name: filepath.Join(folder, filepath.Base(name)), Mode: mode, Size: int64(len(content))}
	if err := entries.WriteHeader(&header); err != nil {
		return fmt.Errorf("build the system: %w", err)
	}
	if _, err := entries.Write(content); err != nil {
		return fmt.Errorf("build the system: %w", err)
	}
	return nil
}
