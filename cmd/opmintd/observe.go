package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/opmint/opmint/journal"
	"github.com/opmint/opmint/vtpmdetect"
)

// bootIDFile is new with each start of the kernel (random(4)).
const bootIDFile = "/proc/sys/kernel/random/boot_id"

// observeTime bounds how long the TPM is asked for what people may want to know
// later. That it does not answer, the claim will tell.
const observeTime = 3 * time.Second

// observer returns what sees, for the journal, what the machine is like when an
// epoch is claimed. The TPM is asked at the first only: with few names an epoch,
// that would double what it has to do.
func (m *mint) observer() func(context.Context) journal.Seen {
	v := m.report.Verdict
	asked := m.chip == nil
	return func(ctx context.Context) journal.Seen {
		seen := journal.Seen{Verdict: fmt.Sprintf("tpm %s, host %s", v.TPM, v.Host)}
		if id, err := os.ReadFile(bootIDFile); err == nil {
			seen.BootID = strings.TrimSpace(string(id))
		}
		if asked {
			return seen
		}
		asked = true
		ctx, cancel := context.WithTimeout(ctx, observeTime)
		defer cancel()
		if p, err := m.chip.config.Device.Properties(ctx); err == nil {
			seen.Clock, seen.ResetCount, seen.RestartCount = p.Clock, p.ResetCount, p.RestartCount
		}
		return seen
	}
}

// openWatch watches the VM's clock too, where this user may read it.
func openWatch(log *slog.Logger) (*vtpmdetect.Watch, error) {
	w, err := vtpmdetect.NewWatch(vtpmdetect.VMClock)
	if errors.Is(err, fs.ErrPermission) {
		log.Warn("this user may not read the VM's clock, so that a restored memory snapshot goes unnoticed", "error", err)
		return vtpmdetect.NewWatch("")
	}
	return w, err
}
