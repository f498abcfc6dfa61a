package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/opmint/opmint/api"
	"github.com/opmint/opmint/keygen"
	"github.com/opmint/opmint/ledger"
)

// Metrics is what GET /metrics tells, for one Server. What the Server does it
// counts by itself; what it cannot know the daemon reports with the methods, from
// any goroutine, also before there is a Server.
//
// No label has a value that a client could make up.
type Metrics struct {
	registry *prometheus.Registry
	gauges   gauges

	minted, leased, leases prometheus.Counter
	named, recalled        prometheus.Counter     // intents
	refusals               *prometheus.CounterVec // by code and status

	claims, failedClaims prometheus.Counter
	increments, burned   prometheus.Counter
	rollbacks            *prometheus.CounterVec // by what went back
	commands             *prometheus.HistogramVec
}

// The values of labels.
var (
	rollbackKinds = []string{"tpm", "journal", "generation", "clock", "ledger"}
	commandNames  = []string{
		"TPM2_CreatePrimary", "TPM2_FlushContext", "TPM2_GetCapability", "TPM2_NV_DefineSpace", "TPM2_NV_Increment",
		"TPM2_NV_Read", "TPM2_NV_ReadPublic", "TPM2_NV_UndefineSpace", "TPM2_ReadClock", "TPM2_StartAuthSession", other,
	}
	classes = []keygen.Class{keygen.ClassH, keygen.ClassV, keygen.ClassJ}
)

// other is the label of what is not in a label's list.
const other = "other"

// NewMetrics returns metrics at zero.
func NewMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.minted = m.counter("opmint_names_minted_total", "Names minted for answers.")
	m.leased = m.counter("opmint_names_leased_total", "Names that clients may mint themselves, from leases.")
	m.leases = m.counter("opmint_leases_total", "Leases given to clients.")
	m.named = m.counter("opmint_intents_named_total", "Intents that were given a name, in streams too.")
	m.recalled = m.counter("opmint_intents_recalled_total", "Intents that were asked for and known, in streams too.")
	m.claims = m.counter("opmint_claims_total", "Epochs claimed.")
	m.failedClaims = m.counter("opmint_failed_claims_total", "Claims that gave no epoch.")
	m.increments = m.counter("opmint_nv_increments_total", "NV increments, each a write that wears the TPM.")
	m.burned = m.counter("opmint_burned_numbers_total", "Values of the NV counter that became no epoch of this daemon's.")
	m.refusals = m.counters("opmint_refusals_total", "Requests and connections refused.", "code", "status")
	m.rollbacks = m.counters("opmint_rollbacks_total", "Times that something was found to have gone back.", "what")
	m.commands = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "opmint_tpm_command_duration_seconds", Help: "Time that the TPM took for a command.",
		Buckets: []float64{.001, .003, .01, .03, .1, .3, 1, 3, 10, 30},
	}, []string{"command"})
	m.registry.MustRegister(m.commands, &m.gauges)
	m.preset()
	return m
}

// preset puts every value that a label can have there, at zero: a rate wants two
// values.
func (m *Metrics) preset() {
	for _, err := range []error{
		api.ErrBadRequest, api.ErrForbidden, api.ErrNotFound, api.ErrMethodNotAllowed, api.ErrTooLarge,
		api.ErrExpired, api.ErrFingerprintMismatch, ledger.ErrInProgress, ledger.ErrOutcomeUnknown, ledger.ErrFenced,
		overloaded(http.StatusTooManyRequests, 0, ""), api.ErrOverloaded, api.ErrUnavailable, api.ErrInternal,
	} {
		m.refusal(api.NewProblem(err))
	}
	for _, what := range rollbackKinds {
		m.rollbacks.WithLabelValues(what)
	}
	for _, command := range commandNames {
		m.commands.WithLabelValues(command)
	}
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) refusal(p *api.Problem) prometheus.Counter {
	return m.refusals.WithLabelValues(p.Code(), strconv.Itoa(p.Status))
}

// Claimed reports that an epoch was claimed, and how many values of the counter
// were burned for it.
func (m *Metrics) Claimed(burned uint64) {
	m.claims.Inc()
	m.burned.Add(float64(burned))
}

// ClaimFailed reports a claim that gave no epoch, and how many values of the
// counter it burned all the same.
func (m *Metrics) ClaimFailed(burned uint64) {
	m.failedClaims.Inc()
	m.burned.Add(float64(burned))
}

// Incremented reports a TPM2_NV_Increment that was executed, or may have been.
func (m *Metrics) Incremented() { m.increments.Inc() }

// RolledBack reports that something was found to have gone back: tpm, journal,
// generation, clock or ledger, as in the rollbacks of an [api.Identity].
func (m *Metrics) RolledBack(what string) {
	m.rollbacks.WithLabelValues(oneOf(rollbackKinds, what)).Inc()
}

// TPMCommand reports how long the TPM took for a command, which is called as in
// TPM 2.0 Library Part 3, such as TPM2_NV_Read.
func (m *Metrics) TPMCommand(command string, took time.Duration) {
	m.commands.WithLabelValues(oneOf(commandNames, command)).Observe(took.Seconds())
}
