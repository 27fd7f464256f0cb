package metrics

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"logstow/compaction"
)

// WriteCompaction writes the metrics of a compaction run, with one report per store, to a file in
// Prometheus' text format, for the textfile collector of node_exporter
// (https://github.com/prometheus/node_exporter#textfile-collector). It replaces the file atomically. The
// directory must exist.
func WriteCompaction(path string, reports []compaction.Report) error {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(compactionCollector(reports))
	if err := prometheus.WriteToTextfile(path, registry); err != nil {
		return fmt.Errorf("cannot write metrics to %s: %w", path, err)
	}
	return nil
}

type compactionCollector []compaction.Report

// Describe implements [prometheus.Collector]. It sends nothing: the metrics depend on the reports.
func (c compactionCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c compactionCollector) Collect(ch chan<- prometheus.Metric) {
	s := scrape{ch}
	for i := range c {
		r := &c[i]
		success, began := 0.0, 0.0
		if !r.Now.IsZero() {
			began = float64(r.Now.Unix())
		}
		if r.Complete && r.Err() == nil {
			success = 1
		}
		for _, m := range []struct {
			name, help string
			value      float64
		}{
			{"last_run_timestamp_seconds", "Start of the last run, in Unix time.", began},
			{"success", "1 if the last run completed all work.", success},
			{"groups", "Days, each of a service and class, with plain segments that the last run examined.", float64(r.Chains)},
			{"halted_groups", "Days, each of a service and class, that are not compacted until an operator acts.", float64(len(r.Halted))},
			{"damaged_segments", "Segments that the last run left out because they are damaged.", float64(len(r.Damaged))},
			{"merged_segments", "Segments merged by the last run.", float64(r.Inputs)},
			{"merged_bytes", "Stored size of the merged segments.", float64(r.BytesIn)},
			{"outputs", "Segments created by the last run.", float64(r.Outputs)},
			{"output_bytes", "Stored size of the created segments.", float64(r.BytesOut)},
			{"removed_segments", "Merged segments removed by the last run.", float64(r.Removed)},
			{"requests", "Requests of the last run.", float64(r.Requests.Total())},
			{"cost_dollars", "Estimated cost of the last run, in dollars.", r.CostUSD},
		} {
			s.gauge("logstow_compaction_"+m.name, m.help, m.value, "store", r.Store)
		}
	}
}
