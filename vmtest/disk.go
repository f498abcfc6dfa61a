package vmtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// createDisk makes a disk of 64 MiB with an empty file system.
func createDisk(ctx context.Context, path string) error {
	raw := path + ".raw"
	defer os.Remove(raw)
	return runAll(ctx,
		// By its path, since not everybody's PATH has this folder.
		[]string{"/usr/sbin/mkfs.ext4", "-q", raw, "64M"},
		[]string{"qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, path})
}

// coverDisk makes a disk that begins as the image base, a file of raw sectors, which stays as it is.
func coverDisk(ctx context.Context, base, path string) error {
	base, err := filepath.Abs(base)
	if err != nil {
		return fmt.Errorf("create the machine's disk: %w", err)
	}
	return runAll(ctx, []string{"qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", base, path})
}

func runAll(ctx context.Context, commands ...[]string) error {
	for _, command := range commands {
		out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("create the machine's disk: %s: %w %s", command[0], withRemedy(err), out)
		}
	}
	return nil
}
