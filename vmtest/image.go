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

// BuildInitramfs compiles the guest program and writes to path an initramfs in which it is the first program.
func BuildInitramfs(ctx context.Context, path string) error {
	program := path + ".init"
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program,
		"github.com/opmint/opmint/vmtest/guest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the guest program: %w\n%s", err, out)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("read the guest program: %w", err)
	}
	var archive bytes.Buffer
	writeCPIO(&archive, "init", content)
	if err := os.WriteFile(path, archive.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write the initramfs: %w", err)
	}
	return nil
}

// writeCPIO writes one executable file in the format that the kernel unpacks as its first file system: "newc" of
// cpio, as in the kernel's Documentation/driver-api/early-userspace/buffer-format.rst.
func writeCPIO(w *bytes.Buffer, name string, content []byte) {
	const executable = 0o100755
	writeCPIOEntry(w, name, executable, content)
	writeCPIOEntry(w, "TRAILER!!!", 0, nil)
}

func writeCPIOEntry(w *bytes.Buffer, name string, mode int, content []byte) {
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
