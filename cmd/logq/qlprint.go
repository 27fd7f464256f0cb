package main

import (
	"bufio"
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"logstow/internal/jsonlines"
	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/query"
	"logstow/query/output"
	"logstow/query/report"
	"logstow/serve/loki"
)

// qlLoki is the format of Loki's API.
const qlLoki = "loki"

// qlWriter prints records and series.
type qlWriter struct {
	w      *bufio.Writer
	format string
	zone   *time.Location
	csv    *csv.Writer
	header bool
	loki   *loki.Encoder
	line   []byte // scratch
}

func newQLWriter(w io.Writer, format string, zone *time.Location) *qlWriter {
	b := bufio.NewWriterSize(w, 64<<10)
	return &qlWriter{w: b, format: format, zone: zone, csv: csv.NewWriter(b), loki: loki.NewEncoder(b)}
}

// close writes what is buffered.
func (w *qlWriter) close() error {
	w.csv.Flush()
	if err := w.csv.Error(); err != nil {
		return err
	}
	return w.w.Flush()
}

func (w *qlWriter) time(at int64) string { return time.Unix(0, at).In(w.zone).Format(time.RFC3339Nano) }

// entry prints a record.
func (w *qlWriter) entry(e *engine.Entry) error {
	if w.format == qlLoki {
		return w.loki.Entry(e)
	}
	all := func() labels.Labels { return labels.Join(e.Stream, e.Metadata, e.Parsed) }
	switch w.format {
	case report.CSV:
		if !w.header {
			w.header = true
			if err := w.csv.Write([]string{"time", "labels", "line"}); err != nil {
				return err
			}
		}
		return w.csv.Write([]string{w.time(e.Time), all().String(), string(e.Line)})
	case report.JSON:
		return w.json(e.Time, all(), e.Fields, "line", e.Line)
	}
	w.line = time.Unix(0, e.Time).In(w.zone).AppendFormat(w.line[:0], time.RFC3339Nano)
	for _, name := range [...]string{labels.Level, labels.Service} {
		w.line = append(append(w.line, '\t'), e.Stream.Get(name)...)
	}
	w.line = append(append(append(w.line, '\t'), e.Line...), '\n')
	_, err := w.w.Write(w.line)
	return err
}

// json prints an object with a time, labels, fields if there are any, and a text.
func (w *qlWriter) json(at int64, ls, fields labels.Labels, name string, text []byte) error {
	w.line = append(w.line[:0], `{"time":"`...)
	w.line = time.Unix(0, at).In(w.zone).AppendFormat(w.line, time.RFC3339Nano)
	w.line = appendLabels(append(w.line, `","labels":`...), ls)
	if len(fields) > 0 {
		w.line = appendLabels(append(w.line, `,"fields":`...), fields)
	}
	w.line = append(append(append(w.line, `,"`...), name...), `":`...)
	w.line = append(jsonlines.AppendString(w.line, text), "}\n"...)
	_, err := w.w.Write(w.line)
	return err
}

func appendLabels(dst []byte, ls labels.Labels) []byte {
	dst = append(dst, '{')
	for i, l := range ls {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonlines.AppendString(dst, []byte(l.Name)), ':')
		dst = jsonlines.AppendString(dst, []byte(l.Value))
	}
	return append(dst, '}')
}

// entries prints what belongs behind the records of a log query.
func (w *qlWriter) entries(used *query.Report) error {
	if w.format == qlLoki {
		return w.loki.Streams(used)
	}
	return nil
}

// value prints the result of a metric query; ranged is set if it has several points a series.
func (w *qlWriter) value(v *engine.Value, ranged bool, used *query.Report) error {
	switch w.format {
	case report.JSON:
		return w.seriesJSON(v)
	case qlLoki:
		return w.loki.Value(v, ranged, used)
	}
	names := labelNames(v)
	var rows [][]string
	rows = append(rows, slices.Concat([]string{"time"}, names, []string{"value"}))
	for _, s := range v.Series {
		for _, p := range s.Points {
			row := []string{w.time(p.Time)}
			for _, name := range names {
				row = append(row, s.Labels.Get(name))
			}
			rows = append(rows, append(row, formatValue(p.Value)))
		}
	}
	if len(rows) == 1 {
		return nil
	}
	if w.format == report.CSV {
		return w.csv.WriteAll(rows)
	}
	if ranged {
		slices.SortStableFunc(rows[1:], func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	}
	return w.table(rows)
}

func (w *qlWriter) seriesJSON(v *engine.Value) error {
	for _, s := range v.Series {
		for _, p := range s.Points {
			if err := w.json(p.Time, s.Labels, nil, "value", []byte(formatValue(p.Value))); err != nil {
				return err
			}
		}
	}
	return nil
}

// table prints aligned columns; the last is right-aligned.
func (w *qlWriter) table(rows [][]string) error {
	for _, row := range rows {
		for i := range row {
			row[i] = output.Visible(row[i])
		}
	}
	return output.WriteLines(w.w, output.Align(rows, "value"))
}

// labelNames are the names of the labels of all series.
func labelNames(v *engine.Value) []string {
	var names []string
	for _, s := range v.Series {
		for _, l := range s.Labels {
			if !slices.Contains(names, l.Name) {
				names = append(names, l.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// formatValue is a value as Prometheus writes it.
func formatValue(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
