package vmtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// kernels is where setup.sh puts the kernel, seen from this package's folder, in which its tests run.
const kernels = "../.cache/vm/linux/boot/vmlinuz-*"

// FindKernel returns the path of the kernel that setup.sh has unpacked.
func FindKernel() (string, error) {
	found, err := filepath.Glob(kernels)
	if err != nil {
		return "", fmt.Errorf("look for a kernel: %w", err)
	}
	if len(found) == 0 {
		return "", fmt.Errorf("no kernel at %s: run vmtest/setup.sh, which unpacks one from Debian's packages", kernels)
	}
	return found[0], nil
}

// programs are what the machine has, by their path in it: its first program, and those that it can be asked to run.
var programs = []struct{ path, source string }{
	{"init", "github.com/opmint/opmint/vmtest/guest"},
	{"opmint", "github.com/opmint/opmint/cmd/opmint"},
	{"opmintd", "github.com/opmint/opmint/cmd/opmintd"},
}

// diskDriver is what the kernel lacks to see the machine's disk, seen from the folder with its boot and lib folders.
const diskDriver = "lib/modules/*/kernel/drivers/block/virtio_blk.ko.xz"

// BuildInitramfs writes to path an initramfs of the programs that Compile has put into folder, for a kernel that
// FindKernel has found.
func BuildInitramfs(kernel, folder, path string) error {
	var files []file
	for _, p := range programs {
		content, err := os.ReadFile(filepath.Join(folder, filepath.Base(p.source)))
		if err != nil {
			return fmt.Errorf("build the initramfs: %w", err)
		}
		files = append(files, file{p.path, content})
	}
	return writeInitramfs(kernel, path, files)
}

// A file is one of the initramfs.
type file struct {
	path    string
	content []byte
}

// writeInitramfs writes an initramfs of files and of what the kernel lacks.
func writeInitramfs(kernel, path string, files []file) error {
	driver, err := readOne(filepath.Join(filepath.Dir(filepath.Dir(kernel)), diskDriver))
	if err != nil {
		return fmt.Errorf("build the initramfs: %w", err)
	}
	var archive bytes.Buffer
	for _, f := range append(files, file{"virtio_blk.ko.xz", driver}, file{"TRAILER!!!", nil}) {
		writeCPIO(&archive, f.path, f.content)
	}
	if err := os.WriteFile(path, archive.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write the initramfs: %w", err)
	}
	return nil
}

// Compile puts the machine's programs into folder. They need no library.
func Compile(ctx context.Context, folder string) error {
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", folder)
	for _, p := range programs {
		build.Args = append(build.Args, p.source)
	}
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the machine's programs: %w\n%s", err, out)
	}
	return nil
}

// readOne reads the only file that fits the pattern.
func readOne(pattern string) ([]byte, error) {
	found, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d files are %s, want one: remove .cache/vm and run vmtest/setup.sh", len(found), pattern)
	}
	return os.ReadFile(found[0])
}

// writeCPIO writes an executable file in the format that the kernel unpacks as its first file system: "newc" of cpio,
// as in the kernel's Documentation/driver-api/early-userspace/buffer-format.rst.
func writeCPIO(w *bytes.Buffer, name string, content []byte) {
	const mode = 0o100755
	const inode, uid, gid, links, mtime, major, minor, deviceMajor, deviceMinor, check = 0, 0, 0, 1, 0, 0, 0, 0, 0, 0
	fmt.Fprintf(w, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00", inode, mode, uid, gid, links,
		mtime, len(content), major, minor, deviceMajor, deviceMinor, len(name)+1, check, name)
	pad(w)
	w.Write(content)
	pad(w)
}

// pad fills up to a multiple of 4 bytes.
func pad(w *bytes.Buffer) {
	for w.Len()%4 != 0 {
		w.WriteByte(0)
	}
}
