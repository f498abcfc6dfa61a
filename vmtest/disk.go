package vmtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// createDisk makes a disk of 64 MiB with an empty file system.
func createDisk(ctx context.Context, path string) error {
	raw := path + ".raw"
	defer os.Remove(raw)
	for _, command := range [][]string{
		// By its path, since not everybody's PATH has this folder.
		{"/usr/sbin/mkfs.ext4", "-q", raw, "64M"},
		{"qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, path},
	} {
		out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("create the machine's disk: %s: %w %s", command[0], withRemedy(err), out)
		}
	}
	return nil
}
