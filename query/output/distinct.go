package output

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"logstow/internal/jsonlines"
	"logstow/query"
)

// DistinctWriter prints the different values of a field: an object {"value":…,"count":…} a line in JSON and
// flat, a line of value and count in CSV, and in the other formats the values alone, one a line, with \n and
// \t in the place of newlines and TABs. Close must be called.
type DistinctWriter struct {
	w        *bufio.Writer
	format   string
	terminal bool
	line     []byte
}

// NewDistinctWriter makes one of a format, which is not Template or Parquet; terminal is set if the output is shown by a
// terminal.
func NewDistinctWriter(w io.Writer, format string, terminal bool) (*DistinctWriter, error) {
	if err := Check(format); err != nil {
		return nil, err
	}
	if format == Template || format == Parquet {
		return nil, fmt.Errorf("%s is for records, not for values", format)
	}
	d := &DistinctWriter{w: bufio.NewWriterSize(w, 64<<10), format: format, terminal: terminal}
	if format == CSV {
		_, _ = d.w.WriteString("value,count\n") // Close returns the error
	}
	return d, nil
}

// Write prints a value.
func (d *DistinctWriter) Write(v query.DistinctValue) error {
	d.line = d.line[:0]
	switch d.format {
	case JSON, Flat:
		d.line = append(d.line, `{"value":`...)
		if v.Bare {
			d.line = append(d.line, v.Text...)
		} else {
			d.line = jsonlines.AppendString(d.line, v.Text)
		}
		d.line = append(strconv.AppendUint(append(d.line, `,"count":`...), v.Count, 10), '}')
	case CSV:
		d.line = strconv.AppendUint(append(appendQuoted(d.line, v.Text), ','), v.Count, 10)
	default:
		d.line = appendFlat(d.line, v.Text)
	}
	if d.terminal {
		d.line = appendVisible(nil, d.line)
	}
	_, err := d.w.Write(append(d.line, '\n'))
	return err
}

// Close writes buffered output.
func (d *DistinctWriter) Close() error { return d.w.Flush() }
