package report

import (
	"io"
	"time"

	"logstow/query/aggregate"
	"logstow/query/parquet"
)

// Write writes a result.
func Write(w io.Writer, r *aggregate.Result, o Options) error {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	switch o.Format {
	case CSV:
		return writeCSV(w, r, newTimes(r, o.Zone))
	case JSON:
		return writeJSON(w, r, newTimes(r, o.Zone))
	case Parquet:
		return parquet.Write(w, r, o.Zone)
	}
	return writeTable(w, r, o)
}
