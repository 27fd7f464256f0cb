// Package parquet writes results of stats as Apache Parquet.
package parquet

import (
	"io"
	"strings"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"logstow/query/aggregate"
)

const (
	// maxBuffered is the size of the values of a row group, which is kept in memory, in bytes.
	maxBuffered = 8 << 20
	// maxRows is the maximum number of rows of a row group.
	maxRows = 100_000
	// batch is the number of rows that are written at once.
	batch = 256
)

// Write writes a result in row groups of about 8 MiB, compressed with Snappy. Columns have the headers of
// the result, in their order, and the type that all their values have: all of them are optional.
//
//	time steps                       TIMESTAMP in milliseconds, UTC
//	whole numbers of 64 bits         INT64
//	numbers of which one is no such  DOUBLE
//	truth values                     BOOLEAN
//	others                           STRING
//
// The metadata have the zone of the steps (logstow.zone) and, separated by newlines, the headers of
// functions of which a value is approximate (logstow.approximate). Rows are read twice.
func Write(w io.Writer, r *aggregate.Result, zone *time.Location) error {
	columns, err := columnsOf(r)
	if err != nil {
		return err
	}
	var rough []string
	for _, c := range r.Columns {
		if r.Approximate[c.Function] {
			rough = append(rough, c.Header)
		}
	}
	out := pq.NewWriter(w, pq.NewSchema("stats", columns.node()), pq.Compression(&pq.Snappy),
		pq.KeyValueMetadata("logstow.zone", zone.String()), pq.KeyValueMetadata("logstow.approximate", strings.Join(rough, "\n")))
	f := &file{Writer: out, columns: columns}
	for row, err := range r.Rows() {
		if err == nil {
			err = f.add(row)
		}
		if err != nil {
			return err
		}
	}
	if err := f.write(); err != nil {
		return err
	}
	return out.Close()
}

// file is a file that is being written.
type file struct {
	*pq.Writer
	columns  columns
	rows     []pq.Row // not yet written
	buffered int      // bytes of the row group
	count    int      // rows of the row group
}

func (f *file) add(row aggregate.Row) error {
	var out pq.Row
	for i, c := range f.columns {
		v := row.Keys
		at := i
		if i >= len(row.Keys) {
			v, at = row.Values, i-len(row.Keys)
		}
		value := c.value(v[at])
		f.buffered += 8 + len(v[at].Text)
		out = append(out, value.Level(0, c.definition(v[at]), i))
	}
	f.rows = append(f.rows, out)
	f.count++
	switch {
	case f.buffered >= maxBuffered || f.count >= maxRows:
		if err := f.write(); err != nil {
			return err
		}
		f.buffered, f.count = 0, 0
		return f.Flush()
	case len(f.rows) == batch:
		return f.write()
	}
	return nil
}

// write writes the rows to the row group.
func (f *file) write() error {
	_, err := f.WriteRows(f.rows)
	f.rows = f.rows[:0]
	return err
}
