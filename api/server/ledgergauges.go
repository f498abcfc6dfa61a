package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/opmint/opmint/ledger"
)

// statsTime is how long metrics wait for the ledger's figures.
const statsTime = 5 * time.Second

// The ledger's metrics. Those that are no gauges begin anew when it is opened.
var (
	ledgerUp         = gauge("opmint_ledger_up", "1 if the ledger answers, 0 if it is out of order.")
	ledgerSuspect    = gauge("opmint_ledger_suspect", "1 if the ledger may be an older copy of itself, until it is accepted.")
	ledgerOperations = gauge("opmint_ledger_operations", "Operations in the ledger.", "state")
	ledgerOldest     = gauge("opmint_ledger_oldest_unknown_seconds",
		"How long the oldest unsettled operation has been unknown, 0 if there is none.")
	ledgerForked     = gauge("opmint_ledger_forked_operations", "Operations whose number another name has too.")
	ledgerFloors     = gauge("opmint_ledger_floors", "Identities of which scopes have seen names; kept for ever.")
	ledgerTombstones = gauge("opmint_ledger_tombstones", "Keys that are forgotten and have no floor.")
	ledgerScopes     = gauge("opmint_ledger_scopes", "Scopes in the ledger.")
	ledgerBytes      = gauge("opmint_ledger_bytes", "Bytes stored for users.")
	ledgerLogBytes   = gauge("opmint_ledger_log_bytes", "Bytes of the ledger's log.")
	ledgerWaiting    = gauge("opmint_ledger_waiting", "Requests that wait to be written to the ledger.")
	ledgerForks      = gauge("opmint_ledger_forks_total", "Names that came with the number of another, since the ledger was opened.")
	ledgerExpired    = gauge("opmint_ledger_expired_total", "Requests refused as expired, since the ledger was opened.")
)

var ledgerMetrics = []*prometheus.Desc{
	ledgerUp, ledgerSuspect, ledgerOperations, ledgerOldest, ledgerForked, ledgerFloors, ledgerTombstones,
	ledgerScopes, ledgerBytes, ledgerLogBytes, ledgerWaiting, ledgerForks, ledgerExpired,
}

// collectLedger sends the ledger's figures; where it gives none, only that.
func (s *Server) collectLedger(c chan<- prometheus.Metric) {
	if s.Ledger == nil {
		return
	}
	send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		c <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	set := func(d *prometheus.Desc, value float64) { send(d, prometheus.GaugeValue, value) }
	stats, info, err := s.ledgerStats()
	if err != nil {
		set(ledgerUp, 0)
		return
	}
	set(ledgerUp, 1)
	suspect := 0.
	if info.Suspect {
		suspect = 1
	}
	set(ledgerSuspect, suspect)
	for state, n := range map[ledger.State]uint64{
		ledger.Running: stats.Running, ledger.Applied: stats.Applied, ledger.Failed: stats.Failed, ledger.Unknown: stats.Unknown,
	} {
		send(ledgerOperations, prometheus.GaugeValue, float64(n), string(state))
	}
	set(ledgerOldest, stats.OldestUnknown.Seconds())
	set(ledgerForked, float64(stats.Forked))
	set(ledgerFloors, float64(stats.Floors))
	set(ledgerTombstones, float64(stats.Tombstones))
	set(ledgerScopes, float64(stats.Scopes))
	set(ledgerBytes, float64(stats.Bytes))
	set(ledgerLogBytes, float64(stats.LogBytes))
	set(ledgerWaiting, float64(stats.Waiting))
	send(ledgerForks, prometheus.CounterValue, float64(stats.Forks))
	send(ledgerExpired, prometheus.CounterValue, float64(stats.Expired))
}

func (s *Server) ledgerStats() (stats ledger.Stats, info ledger.Info, err error) {
	k, err := s.keeper()
	if err != nil {
		return stats, info, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), statsTime)
	defer cancel()
	if stats, err = k.Stats(ctx); err == nil {
		info, err = k.Info(ctx)
	}
	return stats, info, err
}
