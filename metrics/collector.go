package metrics

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"logstow/input"
	"logstow/internal/price"
)

// month is the period of the cost estimate.
const month = 30 * 24 * time.Hour

// redacted is the prefix of the reasons in process.Stats.Counts that count redacted records.
const redacted = "redact:"

// collector reads the counters of the pipeline at each scrape.
type collector struct {
	opts  *Options
	began time.Time
}

// Describe implements [prometheus.Collector]. It sends nothing, so the collector is unchecked: the metrics depend on
// services and reasons.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	s := scrape{ch}
	c.inputs(s)
	c.lost(s)
	c.buffer(s)
	c.output(s)
	c.expiries(s)
	c.watches(s)
	if c.opts.FromLogs != nil {
		c.opts.FromLogs.Collect(ch)
	}
	if c.opts.Requests == nil {
		return
	}
	for _, part := range c.opts.Requests.collectors() {
		part.Collect(ch)
	}
	c.cost(s)
}

func (c *collector) expiries(s scrape) {
	if c.opts.Expiries == nil {
		return
	}
	for name, end := range c.opts.Expiries() {
		s.gauge("logstow_credential_expiry_timestamp_seconds", "Expiry of the credential for a store, in Unix time.",
			float64(end.UnixNano())/1e9, "store", name)
	}
}

func (c *collector) watches(s scrape) {
	if c.opts.Watches == nil {
		return
	}
	w := c.opts.Watches()
	s.gauge("logstow_watched_services", "Services that are flushed early because they are being followed.", float64(w.Watched))
	s.counter("logstow_watch_flushes_total", "Segments flushed early because of watches.", float64(w.Flushes))
	s.counter("logstow_watch_limited_flushes_total", "Early flushes skipped because a service reached its daily limit.", float64(w.Limited))
	s.counter("logstow_watch_failures_total", "Polls for watches and responses to them that failed.", float64(w.Failures))
}

func (c *collector) inputs(s scrape) {
	if c.opts.Inputs == nil {
		return
	}
	c.opts.Inputs.each(func(l inputLabels, in *input.Stats) {
		labels := []string{"input", l.kind, "service", l.service}
		if l.address != "" {
			labels = append(labels, "address", l.address)
			s.counter("logstow_input_repeated_requests_total",
				"Requests whose records an earlier request had stored in whole or in part.", float64(in.Repeated.Load()), labels...)
			s.counter("logstow_input_denied_requests_total", "HTTP requests rejected for a failed login.",
				float64(in.Denied.Load()), labels...)
		}
		for _, n := range []struct {
			name, help string
			value      int64
		}{
			{"records_total", "Records appended to the buffer.", in.Records.Load()},
			{"bytes_total", "Bytes read.", in.Bytes.Load()},
			{"truncated_records_total", "Records truncated at the size limit.", in.Cut.Load()},
			{"nul_bytes_total", "NUL bytes at the start of lines, skipped.", in.NULs.Load()},
			{"split_records_total", "Multi-line records split at a limit.", in.Split.Load()},
			{"rejected_times_total", "Records whose timestamp was rejected.", in.TimesRejected.Load()},
			{"ahead_records_total", "Records whose timestamp is at least 55 minutes ahead of the clock.", in.Ahead.Load()},
			{"missing_times_total", "Records in which the time rules found no timestamp.", in.TimesNotFound.Load()},
		} {
			s.counter("logstow_input_"+n.name, n.help, float64(n.value), labels...)
		}
	})
}

// lost sends the counts of dropped records, by reason.
func (c *collector) lost(s scrape) {
	const name, help = "logstow_dropped_records_total", "Records read and dropped, by reason."
	held := c.opts.Buffer.Stats()
	s.counter(name, help, float64(held.DroppedRecords), "reason", "buffer-full")
	s.counter(name, help, float64(held.LostRecords), "reason", "buffer-damaged")
	if c.opts.Inputs != nil {
		lost := c.opts.Inputs.Total()
		s.counter(name, help, float64(lost.Dropped), "reason", "udp-no-room")
		s.counter(name, help, float64(lost.LostByKernel), "reason", "udp-kernel")
		s.counter(name, help, float64(lost.Incomplete), "reason", "gelf-incomplete")
		s.counter(name, help, float64(lost.Invalid), "reason", "gelf-invalid")
	}
	if c.opts.Processed == nil {
		return
	}
	for reason, n := range c.opts.Processed() {
		if kind, ok := strings.CutPrefix(reason, redacted); ok {
			s.counter("logstow_redacted_records_total", "Records with redacted secrets, by kind.", float64(n), "kind", kind)
			continue
		}
		s.counter(name, help, float64(n), "reason", reason)
	}
}

func (c *collector) buffer(s scrape) {
	b := c.opts.Buffer.Stats()
	s.gauge("logstow_buffer_bytes", "Disk usage of the buffer, write-ahead log included.", float64(max(b.Disk, b.Bytes)))
	if b.Limit > 0 {
		s.gauge("logstow_buffer_limit_bytes", "Maximum disk usage of the buffer.", float64(b.Limit))
	}
	for state, n := range map[string]int{"open": b.Open, "waiting": b.Waiting, "sending": b.Sending} {
		s.gauge("logstow_buffer_batches", "Batches in the buffer by state.", float64(n), "state", state)
	}
	s.counter("logstow_buffer_descriptor_waits_total", "Times the buffer waited because no file descriptor was free.",
		float64(b.DescriptorWaits))
	s.gauge("logstow_index_entities_waiting", "Index entities of stored segments that wait in the buffer for the index.",
		float64(b.Unindexed))
	lag := 0.0
	if !b.Oldest.IsZero() {
		lag = max(0, c.opts.Now().Sub(b.Oldest).Seconds())
	}
	s.gauge("logstow_lag_seconds", "Age of the oldest record that is not yet stored; 0 if there is none.", lag)
	s.counter("logstow_late_records_total", "Records older than the maximum lateness, which got the time they were read.", float64(b.Late))
	s.counter("logstow_replayed_records_total", "Records of an earlier run recovered from the write-ahead log.", float64(b.Replayed))
	s.counter("logstow_damaged_logs_total", "Files of the buffer that were damaged or missing.", float64(b.Damaged))
	s.counter("logstow_failed_batches_total", "Batches that could not be sealed.", float64(b.Failed+b.Unsealed))
	s.counter("logstow_quarantined_batches_total",
		"Batches quarantined because storage rejects them, or because they are damaged or unreadable.", float64(b.Quarantined))
	s.gauge("logstow_quarantine_files", "Files in quarantine.", float64(c.opts.Buffer.InQuarantine()))
}

func (c *collector) output(s scrape) {
	services := c.opts.Uploader.Services()
	for _, name := range slices.Sorted(maps.Keys(services)) {
		d := services[name]
		if name == "" {
			name = "others"
		}
		s.counter("logstow_output_records_total", "Records in storage.", float64(d.Records), "service", name)
		s.counter("logstow_output_raw_bytes_total", "Bytes of text in storage, before compression.", float64(d.RawBytes), "service", name)
		s.counter("logstow_output_bytes_total", "Bytes in storage.", float64(d.StoredBytes), "service", name)
		s.counter("logstow_output_segments_total", "Segments in storage.", float64(d.Segments), "service", name)
	}
	for name, n := range c.opts.Uploader.Limits() {
		s.gauge("logstow_output_concurrency_limit",
			"Maximum number of segments that are sent to a store at the same time; it adapts to latency and throttling.", float64(n),
			"store", name)
	}
	st := c.opts.Uploader.Stats()
	s.counter("logstow_output_conflicts_total", "Segment names already taken by another writer.", float64(st.Conflicts))
	s.counter("logstow_output_unindexed_segments_total", "Segments stored without an index entity.",
		float64(st.Unindexed+c.opts.Buffer.Stats().EntitiesDropped))
	if st.Segments > 0 {
		s.gauge("logstow_segment_mean_size_bytes", "Mean stored size of the segments since the start; many small ones cost requests.",
			float64(st.StoredBytes)/float64(st.Segments))
	}
}

// cost extrapolates the usage since the start to a month.
func (c *collector) cost(s scrape) {
	up := c.opts.Now().Sub(c.began)
	if up < time.Second || c.opts.Prices == (price.Table{}) {
		return
	}
	const name = "logstow_estimated_monthly_cost_dollars"
	const help = "Estimated cost of a month at list prices, extrapolated from the time since the start: requests, and one month of storage."
	share := month.Seconds() / up.Seconds()
	s.gauge(name, help, c.opts.Prices.Cost(c.opts.Requests.Counts().Usage())*share, "part", "requests")
	stored := float64(c.opts.Uploader.Stats().StoredBytes)
	s.gauge(name, help, stored/1e9*c.opts.Prices.Month*share, "part", "storage")
}

// scrape sends metrics.
type scrape struct{ ch chan<- prometheus.Metric }

func (s scrape) counter(name, help string, v float64, labels ...string) {
	s.send(prometheus.CounterValue, name, help, v, labels)
}

func (s scrape) gauge(name, help string, v float64, labels ...string) {
	s.send(prometheus.GaugeValue, name, help, v, labels)
}

// send sends a metric. pairs are alternately names and values of labels.
func (s scrape) send(kind prometheus.ValueType, name, help string, v float64, pairs []string) {
	var names, values []string
	for pair := range slices.Chunk(pairs, 2) {
		names, values = append(names, pair[0]), append(values, pair[1])
	}
	m, err := prometheus.NewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, v, values...)
	if err != nil {
		m = prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
	}
	s.ch <- m
}
