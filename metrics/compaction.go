package metrics

import "logstow/compaction"

// WriteCompaction writes the metrics of a compaction run, with one report per store, to a file in
// Prometheus' text format, for the textfile collector of node_exporter
// (https://github.com/prometheus/node_exporter#textfile-collector). It replaces the file atomically. The
// directory must exist.
func WriteCompaction(path string, reports []compaction.Report) error {
	var runs []lastRun
	for i := range reports {
		r := &reports[i]
		runs = append(runs, lastRun{
			of: r.Store, began: r.Now, succeeded: r.Complete && r.Err() == nil, requests: r.Requests.Total(), cost: r.CostUSD,
			gauges: []gauge{
				{"groups", "Days, each of a service and class, with plain segments that the last run examined.", float64(r.Chains)},
				{"halted_groups", "Days, each of a service and class, that are not compacted until an operator acts.", float64(len(r.Halted))},
				{"damaged_segments", "Segments that the last run left out because they are damaged.", float64(len(r.Damaged))},
				{"merged_segments", "Segments merged by the last run.", float64(r.Inputs)},
				{"merged_bytes", "Stored size of the merged segments.", float64(r.BytesIn)},
				{"outputs", "Segments created by the last run.", float64(r.Outputs)},
				{"output_bytes", "Stored size of the created segments.", float64(r.BytesOut)},
				{"removed_segments", "Merged segments removed by the last run.", float64(r.Removed)},
			},
		})
	}
	return writeRuns(path, "logstow_compaction_", "store", runs)
}
