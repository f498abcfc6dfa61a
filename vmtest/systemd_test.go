//go:build vm

package vmtest

import (
	"bytes"
	"context"
	"testing"
)

func TestProto(t *testing.T) {
	m := &Machine{Folder: t.TempDir(), Kernel: image.kernel, Initramfs: image.system, TPM: "tpm-crb"}
	var err error
	if m.System, err = FindSystem(); err != nil {
		t.Fatal(err)
	}
	if err := m.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { t.Log(m.Console()) })
	vm := boot(t, m)
	for _, c := range [][]string{{"systemd-analyze"}, {"systemd-analyze", "blame"}, {"systemctl", "--failed"}, {"ls", "-l", "/dev/tpmrm0"},{"id", "opmint"}, {"systemctl","start","opmintd.socket"}, {"systemctl", "list-units"}} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		var out bytes.Buffer
		err := vm.Run(ctx, &out, c...)
		t.Logf("%v: %v\n%s", c, err, &out)
	}
}
