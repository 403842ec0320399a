package server

import (
	"fmt"
	"net/http"
	"time"

	vm "github.com/VictoriaMetrics/metrics"
)

// metrics counts requests. It is safe for concurrent use.
type metrics struct {
	*vm.Set
	inFlight *vm.Gauge
}

// buckets are upper bounds in seconds.
var buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60}

func newMetrics(openFiles func() float64) metrics {
	vm.ExposeMetadata(true) // lines with the types
	set := vm.NewSet()
	set.NewGauge("cdfz_open_files", openFiles)
	return metrics{set, set.NewGauge("cdfz_requests_in_flight", nil)}
}

// end counts a request. Status 499 is an answer that was cut off.
func (m *metrics) end(service string, status int, bytes int64, took time.Duration) {
	m.inFlight.Dec()
	m.GetOrCreateCounter(fmt.Sprintf("cdfz_requests_total{service=%q,status=\"%d\"}", service, status)).Inc()
	m.GetOrCreateCounter(fmt.Sprintf("cdfz_response_bytes_total{service=%q}", service)).AddInt64(bytes)
	m.GetOrCreatePrometheusHistogramExt(fmt.Sprintf("cdfz_request_seconds{service=%q}", service), buckets).Update(took.Seconds())
}

// serveMetrics answers with all metrics, as Prometheus reads them.
func (s *Server) serveMetrics(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	s.metrics.WritePrometheus(w)
	vm.WriteProcessMetrics(w)
}
