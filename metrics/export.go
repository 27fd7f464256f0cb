package metrics

import "logstow/export"

// WriteExport is [WriteCompaction] for the reports of export runs, one per table.
func WriteExport(path string, reports []export.Report) error {
	var runs []lastRun
	for i := range reports {
		r := &reports[i]
		runs = append(runs, lastRun{
			of: r.Table, began: r.Now, succeeded: r.Complete && r.Err() == nil, requests: r.Requests.Total(), cost: r.CostUSD,
			gauges: []gauge{
				{"table_version", "Version of the table after the last run.", float64(r.Version)},
				{"outputs", "Outputs of compaction exported by the last run.", float64(r.Units)},
				{"output_bytes", "Stored size of the exported outputs.", float64(r.BytesIn)},
				{"records", "Records exported by the last run.", float64(r.Records)},
				{"files", "Data files created by the last run.", float64(r.Files)},
				{"file_bytes", "Size of the created data files.", float64(r.BytesOut)},
				{"expired_files", "Data files that the last run removed from the table because of --keep.", float64(r.ExpiredFiles)},
				{"deleted_blobs", "Blobs of the table deleted by the last run.", float64(r.Deleted)},
				{"waiting_segments", "Segments of past days that are not compacted, and so not exported.", float64(r.Waiting)},
				{"damaged_outputs", "Outputs that the last run could not export because they are damaged.", float64(len(r.Damaged))},
			},
		})
	}
	return writeRuns(path, "logstow_export_", "table", runs)
}
