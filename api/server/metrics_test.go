package server

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/opmint/opmint/keygen"
)

// scrape returns the lines of GET /metrics that begin with a prefix.
func (s *Server) scrape(t *testing.T, prefix string) string {
	t.Helper()
	answer := s.serve(requestAs(caller{uid: 1000}, "GET", "/metrics", "*/*"))
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != 200 ||
		!strings.HasPrefix(answer.Header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%s, %v, %v", answer.Status, answer.Header, err)
	}
	var found strings.Builder
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, prefix) {
			found.WriteString(line)
		}
	}
	return found.String()
}

// TestMetricNames: by Prometheus' rules, with a prefix of our own.
func TestMetricNames(t *testing.T) {
	s, _ := newServer(t, keygen.ClassH, 0)
	problems, err := testutil.GatherAndLint(s.Metrics.registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	all, err := s.Metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range all {
		if !strings.HasPrefix(family.GetName(), "opmint_") || !strings.HasSuffix(family.GetHelp(), ".") {
			t.Errorf("%s: %s", family.GetName(), family.GetHelp())
		}
	}
}

// TestMetricsAtTheStart: everything is there from the start, with every value that
// a label can have.
func TestMetricsAtTheStart(t *testing.T) {
	s, _ := newServer(t, keygen.ClassV, 0)
	var got strings.Builder
	for line := range strings.Lines(s.scrape(t, "opmint_")) {
		if !strings.Contains(line, "_bucket{") && !strings.Contains(line, "_seconds_sum{") {
			got.WriteString(line)
		}
	}
	want := `opmint_burned_numbers_total 0
opmint_claims_total 0
opmint_class{class="h"} 0
opmint_class{class="j"} 0
opmint_class{class="v"} 1
opmint_connections 0
opmint_epoch 1
opmint_failed_claims_total 0
opmint_intents_named_total 0
opmint_intents_recalled_total 0
opmint_leases_total 0
opmint_ledger_bytes 0
opmint_ledger_expired_total 0
opmint_ledger_floors 0
opmint_ledger_forked_operations 0
opmint_ledger_forks_total 0
opmint_ledger_log_bytes 0
opmint_ledger_oldest_unknown_seconds 0
opmint_ledger_operations{state="applied"} 0
opmint_ledger_operations{state="failed"} 0
opmint_ledger_operations{state="running"} 0
opmint_ledger_operations{state="unknown"} 0
opmint_ledger_scopes 0
opmint_ledger_suspect 0
opmint_ledger_tombstones 0
opmint_ledger_up 1
opmint_ledger_waiting 0
opmint_names_leased_total 0
opmint_names_minted_total 0
opmint_nv_increments_total 0
opmint_refusals_total{code="bad-request",status="400"} 0
opmint_refusals_total{code="expired",status="410"} 0
opmint_refusals_total{code="fenced",status="409"} 0
opmint_refusals_total{code="fingerprint-mismatch",status="422"} 0
opmint_refusals_total{code="forbidden",status="403"} 0
opmint_refusals_total{code="in-progress",status="409"} 0
opmint_refusals_total{code="internal",status="500"} 0
opmint_refusals_total{code="method-not-allowed",status="405"} 0
opmint_refusals_total{code="not-found",status="404"} 0
opmint_refusals_total{code="outcome-unknown",status="409"} 0
opmint_refusals_total{code="overloaded",status="429"} 0
opmint_refusals_total{code="overloaded",status="503"} 0
opmint_refusals_total{code="too-large",status="413"} 0
opmint_refusals_total{code="unavailable",status="503"} 0
opmint_requests_in_flight 1
opmint_rollbacks_total{what="clock"} 0
opmint_rollbacks_total{what="generation"} 0
opmint_rollbacks_total{what="journal"} 0
opmint_rollbacks_total{what="ledger"} 0
opmint_rollbacks_total{what="tpm"} 0
opmint_tpm_command_duration_seconds_count{command="TPM2_CreatePrimary"} 0
opmint_tpm_command_duration_seconds_count{command="TPM2_FlushContext"} 0
opmint_tpm_command_duration_seconds_count{command="TPM2_GetCapability"} 0
opmint_tpm_command_duration_seconds_count{command="TPM2_NV_DefineSpace"} 0
opmint_tpm_command_duration_seconds_count{command="TPM2_NV_Increment"} 0
opmint_tpm_command_duration_seconds_count{command="TPM2_NV_Read"} 0
opmint_tpm_command_duration_seconds_count{command="TPM2_NV_ReadPublic"} 0
opmint_tpm_command_duration_seconds_count{command="TPM2_NV_UndefineSpace"} 0
opmint_tpm_command_duration_seconds_count{command="TPM2_ReadClock"} 0
opmint_tpm_command_duration_seconds_count{command="TPM2_StartAuthSession"} 0
opmint_tpm_command_duration_seconds_count{command="other"} 0
opmint_users 0
`
	if got.String() != want {
		t.Errorf("got\n%s", got.String())
	}
}

// TestMetricsOfClients: what clients do is counted.
func TestMetricsOfClients(t *testing.T) {
	inBubble(t, keygen.ClassH, func(s *Server) { s.Limits.Connections = 1 }, func(t *testing.T, p *pipes) {
		c, other := p.dial(1000), p.dial(1001)
		p.request(c, post("/v1/names?count=2500"))
		p.request(c, post("/v1/names"))
		p.request(c, lend(`{"count":1048576}`))
		p.request(c, lend(`{"count":1}`))
		p.request(c, lend(`{"count":0}`))
		p.request(other, "nonsense\r\n\r\n")
		p.wantOverloaded(1000, post("/v1/names"), 429, "1")
		synctest.Wait()
		for prefix, want := range map[string]string{
			"opmint_names_minted_total":                            "2501",
			"opmint_names_leased_total":                            "1.048577e+06",
			"opmint_leases_total":                                  "2",
			`opmint_refusals_total{code="bad-request"`:             "2",
			`opmint_refusals_total{code="overloaded",status="429"`: "1",
			"opmint_users":                                         "2",
			"opmint_connections":                                   "2",
			"opmint_requests_in_flight":                            "1",
			`opmint_class{class="h"}`:                              "1",
		} {
			line := p.server.scrape(t, prefix)
			if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, " "+want+"\n") {
				t.Errorf("%q, want %s", line, want)
			}
		}
		other.Close()
		c.Close()
	})
}

// TestMetricsOfTheDaemon: what the daemon reports is there, and no label has a
// value of its own making.
func TestMetricsOfTheDaemon(t *testing.T) {
	s, _ := newServer(t, keygen.ClassH, 0)
	m := s.Metrics
	m.Claimed(0)
	m.Claimed(3)
	m.ClaimFailed(0)
	m.Incremented()
	m.RolledBack("tpm")
	m.RolledBack("the moon")
	m.TPMCommand("TPM2_NV_Read", 20*time.Millisecond)
	m.TPMCommand("TPM2_Clear", time.Second)
	for _, line := range []string{
		"opmint_claims_total 2",
		"opmint_burned_numbers_total 3",
		"opmint_failed_claims_total 1",
		"opmint_nv_increments_total 1",
		`opmint_rollbacks_total{what="tpm"} 1`,
		`opmint_rollbacks_total{what="other"} 1`,
		`opmint_tpm_command_duration_seconds_bucket{command="TPM2_NV_Read",le="0.01"} 0`,
		`opmint_tpm_command_duration_seconds_bucket{command="TPM2_NV_Read",le="0.03"} 1`,
		`opmint_tpm_command_duration_seconds_sum{command="other"} 1`,
	} {
		if got := s.scrape(t, line[:strings.LastIndexByte(line, ' ')]); got != line+"\n" {
			t.Errorf("%q, want %q", got, line)
		}
	}
}

// TestMetricsWithoutAServer: what cannot be told is absent.
func TestMetricsWithoutAServer(t *testing.T) {
	m := NewMetrics()
	n, err := testutil.GatherAndCount(m.registry, "opmint_epoch", "opmint_class", "opmint_connections")
	if n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
