package main

import (
	"sync/atomic"
	"time"

	"github.com/opmint/opmint/api/server"
)

// A meter counts for GET /metrics what only the daemon sees.
type meter struct {
	*server.Metrics
	increments atomic.Uint64 // of the TPM's counter, by this daemon
}

func newMeter() *meter { return &meter{Metrics: server.NewMetrics()} }

// command is told of each command that the TPM has executed, or may have.
func (m *meter) command(name string, took time.Duration) {
	m.TPMCommand(name, took)
	if name == "TPM2_NV_Increment" {
		m.Incremented()
		m.increments.Add(1)
	}
}

// claim makes a claim and counts it. A claim makes one increment at least, where
// there is a TPM; each further one, and that of a failed claim, burned a number.
func (m *meter) claim(next func() (uint64, error)) (uint64, error) {
	before := m.increments.Load()
	epoch, err := next()
	burned := m.increments.Load() - before
	if err != nil {
		m.ClaimFailed(burned)
		return 0, err
	}
	m.Claimed(max(burned, 1) - 1)
	return epoch, nil
}
