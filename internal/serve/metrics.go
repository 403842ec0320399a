package serve

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"
)

// metrics counts requests. It is safe for concurrent use. The text format is small
// enough to be written without Prometheus' client library, which would add nine modules:
// https://prometheus.io/docs/instrumenting/exposition_formats/
type metrics struct {
	mu       sync.Mutex
	inFlight int
	requests map[labels]int64
	bytes    map[string]int64 // by service
	times    map[string]*histogram
}

// labels of the number of requests.
type labels struct {
	service string
	status  int
}

// buckets are upper bounds in seconds.
var buckets = [...]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60}

// histogram counts durations.
type histogram struct {
	counts [len(buckets)]int64 // in each bucket, without those below
	count  int64
	sum    float64 // s
}

func (m *metrics) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inFlight++
}

func (m *metrics) end(service string, status int, bytes int64, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.requests == nil {
		m.requests, m.bytes, m.times = map[labels]int64{}, map[string]int64{}, map[string]*histogram{}
	}
	m.inFlight--
	m.requests[labels{service, status}]++
	m.bytes[service] += bytes
	h := m.times[service]
	if h == nil {
		h = &histogram{}
		m.times[service] = h
	}
	h.count++
	h.sum += took.Seconds()
	if i, _ := slices.BinarySearch(buckets[:], took.Seconds()); i < len(buckets) {
		h.counts[i]++
	}
}

// serveMetrics answers with all metrics.
func (s *Server) serveMetrics(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	s.metrics.write(w)
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	open, _ := s.source.Len()
	for _, g := range []struct {
		name, help string
		value      int64
	}{
		{"cdfz_open_files", "netCDF files held open.", int64(open)},
		{"go_goroutines", "Goroutines.", int64(runtime.NumGoroutine())},
		{"go_memstats_heap_inuse_bytes", "Bytes of the heap in use.", int64(mem.HeapInuse)},
	} {
		head(w, g.name, "gauge", g.help)
		fmt.Fprintf(w, "%s %d\n", g.name, g.value)
	}
}

func head(w io.Writer, name, kind, help string) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (m *metrics) write(w io.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	head(w, "cdfz_requests_in_flight", "gauge", "Requests that are being answered.")
	fmt.Fprintf(w, "cdfz_requests_in_flight %d\n", m.inFlight)
	head(w, "cdfz_requests_total", "counter", "Requests by service and status; 499 is an answer that was cut off.")
	byLabels := func(a, b labels) int {
		if a.service != b.service {
			return cmp.Compare(a.service, b.service)
		}
		return cmp.Compare(a.status, b.status)
	}
	for _, l := range slices.SortedFunc(maps.Keys(m.requests), byLabels) {
		fmt.Fprintf(w, "cdfz_requests_total{service=%q,status=\"%d\"} %d\n", l.service, l.status, m.requests[l])
	}
	head(w, "cdfz_response_bytes_total", "counter", "Bytes of answers.")
	for _, name := range slices.Sorted(maps.Keys(m.bytes)) {
		fmt.Fprintf(w, "cdfz_response_bytes_total{service=%q} %d\n", name, m.bytes[name])
	}
	head(w, "cdfz_request_seconds", "histogram", "Time from the request's header to the end of its answer.")
	for _, name := range slices.Sorted(maps.Keys(m.times)) {
		h, n := m.times[name], int64(0)
		for i, le := range buckets {
			n += h.counts[i]
			fmt.Fprintf(w, "cdfz_request_seconds_bucket{service=%q,le=\"%v\"} %d\n", name, le, n)
		}
		fmt.Fprintf(w, "cdfz_request_seconds_bucket{service=%q,le=\"+Inf\"} %d\n", name, h.count)
		fmt.Fprintf(w, "cdfz_request_seconds_sum{service=%q} %g\ncdfz_request_seconds_count{service=%q} %d\n", name, h.sum, name, h.count)
	}
}
