package serve

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"logstow/metrics"
	"logstow/serve/limits"
	"logstow/serve/tailwatch"
)

// measured holds the metrics of a server. No label is a service or a token: clients that may read metrics may not be allowed to
// see all of these.
type measured struct {
	requests   *prometheus.CounterVec
	seconds    *prometheus.HistogramVec
	rejections *prometheus.CounterVec
	read       prometheus.Counter
	cost       prometheus.Counter
	handler    http.Handler
}

func newMeasured(opts *Options, limiter *limits.Limiter) *measured {
	m := &measured{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "logstow_http_requests_total", Help: "HTTP requests by endpoint and status code.",
		}, []string{"endpoint", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "logstow_http_request_duration_seconds",
			Help:    "Duration of HTTP requests, including the time in the queue, excluding live tails.",
			Buckets: []float64{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100},
		}, []string{"endpoint"}),
		rejections: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "logstow_http_rejected_requests_total", Help: "HTTP requests rejected before they were processed, by reason.",
		}, []string{"reason"}),
		read: prometheus.NewCounter(prometheus.CounterOpts{Name: "logstow_query_read_bytes_total", Help: "Bytes that queries read from storage."}),
		cost: prometheus.NewCounter(prometheus.CounterOpts{Name: "logstow_query_cost_dollars_total", Help: "Estimated cost of the requests of queries."}),
	}
	registry := metrics.NewRegistry(opts.Version)
	registry.MustRegister(m.requests, m.seconds, m.rejections, m.read, m.cost, stateCollector{limiter, opts.Watches})
	if opts.Requests != nil {
		registry.MustRegister(opts.Requests.Reading()...)
	}
	m.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return m
}

// request counts a request that ended.
func (m *measured) request(q *request, status int) {
	endpoint := endpointOf(q.URL.Path)
	m.requests.WithLabelValues(endpoint, strconv.Itoa(status)).Inc()
	if endpoint != "tail" {
		m.seconds.WithLabelValues(endpoint).Observe(q.elapsed().Seconds())
	}
	if q.used != nil {
		read, cost := q.used.Read()
		m.read.Add(float64(max(0, read)))
		m.cost.Add(max(0, cost))
	}
}

func (m *measured) rejected(reason string) { m.rejections.WithLabelValues(reason).Inc() }

// stateCollector collects the state of the limits and of watches at a scrape.
type stateCollector struct {
	limiter *limits.Limiter
	watches *tailwatch.Watches // may be nil
}

// Describe implements [prometheus.Collector]. It sends nothing, so the collector is unchecked.
func (stateCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c stateCollector) Collect(ch chan<- prometheus.Metric) {
	state := c.limiter.State()
	type gauge struct {
		name, help string
		value      float64
	}
	gauges := []gauge{
		{"logstow_queries_running", "Running queries, except those of metadata.", float64(state.Running[limits.Records])},
		{"logstow_queries_waiting", "Queries waiting for a slot, except those of metadata.", float64(state.Waiting[limits.Records])},
		{"logstow_metadata_queries_running", "Running queries of metadata.", float64(state.Running[limits.Metadata])},
		{"logstow_metadata_queries_waiting", "Queries of metadata waiting for a slot.", float64(state.Waiting[limits.Metadata])},
		{"logstow_tails", "Open live tails.", float64(state.Tails)},
		{"logstow_query_cost_today_dollars", "Estimated cost of the queries and watches of this process since midnight UTC.", state.SpentToday},
	}
	if c.watches != nil {
		status := c.watches.Status()
		gauges = append(gauges,
			gauge{"logstow_watched_services", "Services watched for live tails.", float64(status.Services)},
			gauge{"logstow_watch_shippers", "Shippers that respond to watches, each counted for each of its services.", float64(status.Shippers)},
		)
	}
	for _, g := range gauges {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(g.name, g.help, nil, nil), prometheus.GaugeValue, g.value)
	}
	if c.watches != nil {
		cost := prometheus.NewDesc("logstow_watch_cost_dollars_total",
			"Maximum cost of watches: their requests and the early flushes of shippers.", nil, nil)
		ch <- prometheus.MustNewConstMetric(cost, prometheus.CounterValue, c.watches.Cost())
	}
}
