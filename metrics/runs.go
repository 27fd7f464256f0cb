package metrics

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// lastRun has the metrics of the last run of a job.
type lastRun struct {
	// of is the value of the label: what the run worked on.
	of string
	// began is zero if that is unknown.
	began     time.Time
	succeeded bool
	// gauges are those of the kind of job.
	gauges   []gauge
	requests int64
	cost     float64
}

// gauge is a metric with a name behind the prefix of its job.
type gauge struct {
	name, help string
	value      float64
}

// writeRuns writes metrics whose names begin with a prefix, with a label, to a file in Prometheus' text format, for the textfile collector of
// node_exporter (https://github.com/prometheus/node_exporter#textfile-collector). It replaces the file atomically. The directory must exist.
func writeRuns(path, prefix, label string, runs []lastRun) error {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(&runCollector{prefix, label, runs})
	if err := prometheus.WriteToTextfile(path, registry); err != nil {
		return fmt.Errorf("cannot write metrics to %s: %w", path, err)
	}
	return nil
}

type runCollector struct {
	prefix, label string
	runs          []lastRun
}

// Describe implements [prometheus.Collector]. It sends nothing: the metrics depend on the runs.
func (c *runCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c *runCollector) Collect(ch chan<- prometheus.Metric) {
	s := scrape{ch}
	for i := range c.runs {
		r := &c.runs[i]
		success, began := 0.0, 0.0
		if !r.began.IsZero() {
			began = float64(r.began.Unix())
		}
		if r.succeeded {
			success = 1
		}
		for _, g := range append([]gauge{
			{"last_run_timestamp_seconds", "Start of the last run, in Unix time.", began},
			{"success", "1 if the last run completed all work.", success},
			{"requests", "Requests of the last run.", float64(r.requests)},
			{"cost_dollars", "Estimated cost of the last run, in dollars.", r.cost},
		}, r.gauges...) {
			s.gauge(c.prefix+g.name, g.help, g.value, c.label, r.of)
		}
	}
}
