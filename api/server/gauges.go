package server

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/opmint/opmint/api"
)

// gauges are the metrics of a Server that are not counted but looked up. They
// implement [prometheus.Collector].
type gauges struct{ server atomic.Pointer[Server] }

var (
	classGauge    = gauge("opmint_class", "1 for the class of the names minted now.", "class")
	epochGauge    = gauge("opmint_epoch", "The epoch under which names are minted now.")
	usersGauge    = gauge("opmint_users", "Users who are connected.")
	connsGauge    = gauge("opmint_connections", "Connections that are open.")
	inFlightGauge = gauge("opmint_requests_in_flight", "Requests that are being answered.")
)

func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe sends what there is.
func (*gauges) Describe(c chan<- *prometheus.Desc) {
	own := []*prometheus.Desc{classGauge, epochGauge, usersGauge, connsGauge, inFlightGauge}
	for _, d := range append(own, ledgerMetrics...) {
		c <- d
	}
}

// Collect sends the values. While no names can be minted, epoch and class are
// absent.
func (g *gauges) Collect(c chan<- prometheus.Metric) {
	s := g.server.Load()
	if s == nil {
		return
	}
	send := func(d *prometheus.Desc, value float64, labels ...string) {
		c <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	if _, epoch, err := s.Minter.Epoch(); err == nil {
		send(epochGauge, float64(epoch))
		for _, class := range classes {
			value := 0.
			if class == s.Minter.Class() {
				value = 1
			}
			send(classGauge, value, class.String())
		}
	}
	users, connections, requests := s.accounts.count()
	send(usersGauge, float64(users))
	send(connsGauge, float64(connections))
	send(inFlightGauge, float64(requests))
	s.collectLedger(c)
}

// oneOf returns value if it is one of the known ones, else [other].
func oneOf(known []string, value string) string {
	if slices.Contains(known, value) {
		return value
	}
	return other
}

// metrics answers GET /metrics.
func (s *Server) metrics(r *request) (action, error) {
	return func(a *answer) error {
		p := page{header: a.Header(), status: http.StatusOK}
		promhttp.HandlerFor(s.Metrics.registry, promhttp.HandlerOpts{DisableCompression: true}).ServeHTTP(&p, r.Request)
		if p.status != http.StatusOK {
			return fmt.Errorf("%w: gather metrics: %s", api.ErrInternal, p.Bytes())
		}
		a.Header().Set("Content-Length", strconv.Itoa(p.Len()))
		a.WriteHeader(http.StatusOK)
		_, err := a.Write(p.Bytes())
		return err
	}, r.bare()
}

// page is an answer that is held back until it is whole. It is an
// [http.ResponseWriter].
type page struct {
	bytes.Buffer
	header http.Header
	status int
}

// Header returns the answer's header.
func (p *page) Header() http.Header { return p.header }

// WriteHeader notes the status.
func (p *page) WriteHeader(status int) { p.status = status }
