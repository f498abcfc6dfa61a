package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMetricsOfClaims reads what a daemon tells that has defined its index, which
// takes an increment of its own, claimed an epoch and renewed once.
func TestMetricsOfClaims(t *testing.T) {
	p := newRig(t).start()
	_, err := p.client.Renew(t.Context())
	must(t, err)
	p.wantMetrics(
		"opmint_claims_total 2", "opmint_failed_claims_total 0",
		"opmint_nv_increments_total 3", "opmint_burned_numbers_total 0",
		`opmint_tpm_command_duration_seconds_count{command="TPM2_NV_Increment"} 3`,
	)
}

// wantMetrics fails the test unless GET /metrics has these lines.
func (p *process) wantMetrics(want ...string) {
	p.t.Helper()
	var body strings.Builder
	must(p.t, p.client.Relay(p.t.Context(), &body, "GET", "/metrics"))
	lines := strings.Split(body.String(), "\n")
	for _, line := range want {
		if !slices.Contains(lines, line) {
			p.t.Errorf("no line %q in\n%s", line, &body)
		}
	}
}

// TestMeter has claims with no, one and three increments, and one that fails.
func TestMeter(t *testing.T) {
	m := newMeter()
	broken := errors.New("broken")
	for _, c := range []struct {
		increments int
		err        error
	}{{0, nil}, {1, nil}, {3, nil}, {2, broken}} {
		_, err := m.claim(func() (uint64, error) {
			for range c.increments {
				m.command("TPM2_NV_Increment", time.Millisecond)
			}
			m.command("TPM2_NV_Read", time.Millisecond)
			return 7, c.err
		})
		if !errors.Is(err, c.err) {
			t.Errorf("%v, want %v", err, c.err)
		}
	}
	if n := m.increments.Load(); n != 6 {
		t.Errorf("%d increments, want 6", n)
	}
}
