// Package metrics exposes a running shipper to Prometheus and to health checks: /metrics, /healthz
// and /readyz.
//
// Counters of the pipeline are read at each scrape. Only the requests to storage, which are few, are
// observed as they happen. The names follow https://prometheus.io/docs/practices/naming, and
// docs/reference.md lists them.
package metrics

import (
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"logstow/buffer"
	"logstow/internal/price"
	"logstow/upload"
	"logstow/watch"
)

// Buffer is the required part of a [buffer.Buffer].
type Buffer interface {
	Stats() buffer.Stats
	InQuarantine() int
	Err() error
}

// Uploader is the required part of an [upload.Uploader].
type Uploader interface {
	Stats() upload.Stats
	Services() map[string]upload.Delivered
	Limits() map[string]int
	// Outage returns the error of the last attempt to store a batch, or nil.
	Outage() error
}

// Options are the sources of the metrics. Buffer and Uploader are required; metrics of other fields that are
// nil or zero are omitted. The sources are called at scrapes and must be safe for concurrent use.
type Options struct {
	// Version is the version of the program.
	Version  string
	Buffer   Buffer
	Uploader Uploader
	// Inputs holds the counters of inputs, Requests the counters of requests to storage.
	Inputs   *Inputs
	Requests *Requests
	// Expiries returns when the credentials of stores expire, where known, by store.
	Expiries func() map[string]time.Time
	// Processed is process.Stats.Counts: the numbers of records that rules dropped or changed, by reason.
	Processed func() map[string]int64
	// FromLogs collects metrics that are computed from records.
	FromLogs prometheus.Collector
	// Watches is [watch.Flusher.Stats].
	Watches func() watch.FlusherStats
	// Prices are the prices for the estimated cost.
	Prices price.Table
	// Now is the clock; nil is [time.Now].
	Now func() time.Time
}

// Metrics serves the metrics and health of a running shipper. Make it with [New].
type Metrics struct {
	opts     Options
	began    time.Time
	registry *prometheus.Registry
}

// New returns the metrics of a shipper that starts now.
func New(opts Options) *Metrics {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	m := &Metrics{opts: opts, began: opts.Now(), registry: NewRegistry(opts.Version)}
	m.registry.MustRegister(m.Collector())
	return m
}

// NewRegistry returns a registry with the metrics of every program: its version, the Go runtime and the process.
func NewRegistry(version string) *prometheus.Registry {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "logstow_build_info", Help: "Always 1; the labels give the versions.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	})
	build.Set(1)
	registry := prometheus.NewRegistry()
	registry.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// Collector returns a collector of the metrics of the pipeline, without those of the process.
func (m *Metrics) Collector() prometheus.Collector { return &collector{opts: &m.opts, began: m.began} }

// Register adds /metrics, /healthz and /readyz to a mux, as [logstow/input/httpserver.New] requires of its
// routes.
func (m *Metrics) Register(mux *http.ServeMux) {
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	ready, storing := respond(m.Ready, m.indexState), respond(m.Storing, m.indexState)
	mux.Handle("GET /healthz", respond(m.Healthy, func() string { return "" }))
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("storage") {
		case "", "0":
			ready.ServeHTTP(w, r)
		case "1":
			storing.ServeHTTP(w, r)
		default:
			http.Error(w, "storage is 0 or 1", http.StatusBadRequest)
		}
	})
}
