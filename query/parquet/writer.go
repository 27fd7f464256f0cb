package parquet

import (
	"bytes"
	"io"

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

// Writer writes rows to a file, in row groups of about 8 MiB, compressed with Snappy. It keeps one row group in memory, and
// for each earlier one the metadata for the end of the file: places, and the least and the greatest value of each column.
// Not safe for concurrent use.
type Writer struct {
	out      *pq.GenericWriter[any]
	columns  []Column
	rows     []pq.Row // not yet written
	buffered int      // bytes of the row group
	count    int      // rows of the row group
}

// NewWriter makes a Writer to w. The names of the columns are different; metadata are of the whole file, by key.
func NewWriter(w io.Writer, columns []Column, metadata map[string]string) *Writer {
	// Statistics of pages would be values as long as the texts, several of each page.
	options := []pq.WriterOption{pq.NewSchema("logstow", node(columns)), pq.Compression(&pq.Snappy), pq.DataPageStatistics(false)}
	for key, value := range metadata {
		options = append(options, pq.KeyValueMetadata(key, value))
	}
	return &Writer{out: pq.NewGenericWriter[any](w, options...), columns: columns}
}

// Write writes a row: a value for each column, Missing or of its type. It copies them.
func (w *Writer) Write(values []aggregate.Value) error {
	row := make(pq.Row, len(values))
	for i, v := range values {
		definition := 1
		if v.Kind == aggregate.Missing {
			definition = 0
		}
		w.buffered += 8 + len(v.Text)
		row[i] = w.columns[i].value(v).Level(0, definition, i)
	}
	w.rows = append(w.rows, row)
	w.count++
	switch {
	case w.buffered >= maxBuffered || w.count >= maxRows:
		if err := w.write(); err != nil {
			return err
		}
		w.buffered, w.count = 0, 0
		return w.out.Flush()
	case len(w.rows) == batch:
		return w.write()
	}
	return nil
}

// write writes the rows to the row group.
func (w *Writer) write() error {
	_, err := w.out.WriteRows(w.rows)
	clear(w.rows)
	w.rows = w.rows[:0]
	return err
}

// Close writes the last row group and the end of the file. A file without it cannot be read.
func (w *Writer) Close() error {
	if err := w.write(); err != nil {
		return err
	}
	return w.out.Close()
}

// value is a value in the column's type.
func (c Column) value(v aggregate.Value) pq.Value {
	if v.Kind == aggregate.Missing {
		return pq.NullValue()
	}
	switch c.Type {
	case Boolean:
		return pq.BooleanValue(string(v.Text) == "true")
	case Integer, Nanoseconds:
		return pq.Int64Value(v.Int)
	case Double:
		x, _ := v.Number()
		return pq.DoubleValue(x)
	case Milliseconds:
		return pq.Int64Value(v.Int / 1e6)
	}
	return pq.ByteArrayValue(bytes.ToValidUTF8(v.Append(nil), []byte("\ufffd")))
}
