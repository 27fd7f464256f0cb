package main

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"io"
	"math"
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

// qlWriter prints records and series. On a terminal tables of series have bars and sparklines.
type qlWriter struct {
	width  int // of the terminal in columns; 0 is none
	w      *bufio.Writer
	format string
	zone   *time.Location
	csv    *csv.Writer
	header bool
	loki   *loki.Encoder
	line   []byte // scratch
}

func newQLWriter(w io.Writer, format string, zone *time.Location, width int) *qlWriter {
	b := bufio.NewWriterSize(w, 64<<10)
	return &qlWriter{width: width, w: b, format: format, zone: zone, csv: csv.NewWriter(b), loki: loki.NewEncoder(b)}
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

// value prints the result of a metric query; step is 0 if it has one point a series.
func (w *qlWriter) value(v *engine.Value, step time.Duration, used *query.Report) error {
	switch w.format {
	case report.JSON:
		return w.seriesJSON(v)
	case qlLoki:
		return w.loki.Value(v, step > 0, used)
	}
	names := labelNames(v)
	var rows []qlRow
	for i := range v.Series {
		s := &v.Series[i]
		for _, p := range s.Points {
			rows = append(rows,
				qlRow{point: p, cells: slices.Concat([]string{w.time(p.Time)}, labelValues(s, names), []string{formatValue(p.Value)})})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	header := slices.Concat([]string{"time"}, names, []string{"value"})
	if w.format == report.CSV {
		table := [][]string{header}
		for _, row := range rows {
			table = append(table, row.cells)
		}
		return w.csv.WriteAll(table)
	}
	if step > 0 {
		slices.SortStableFunc(rows, func(a, b qlRow) int { return cmp.Compare(a.point.Time, b.point.Time) })
	}
	if err := w.table(header, rows); err != nil || w.width == 0 || len(names) == 0 {
		return err
	}
	return w.trends(v, names, rows, step)
}

// qlRow is a row of a table: a point and its text.
type qlRow struct {
	point engine.Point
	cells []string
}

// table prints aligned columns, and bars; the values are right-aligned.
func (w *qlWriter) table(header []string, rows []qlRow) error {
	table := [][]string{visibleCells(header)}
	most := 0.0
	for _, row := range rows {
		table = append(table, visibleCells(row.cells))
		if x := row.point.Value; !math.IsInf(x, 0) && !math.IsNaN(x) {
			most = max(most, x)
		}
	}
	lines := output.Align(table, "value")
	length := report.BarLength(w.width, output.Columns(lines[0]))
	for i, row := range rows {
		if bar := report.Bar(row.point.Value, most, length); bar != "" {
			lines[i+1] += "  " + bar
		}
	}
	return output.WriteLines(w.w, lines)
}

// trends prints the sparklines of series over at least two steps, if the steps are not too many. rows are in the order of time.
func (w *qlWriter) trends(v *engine.Value, names []string, rows []qlRow, step time.Duration) error {
	first, last := rows[0].point.Time, rows[len(rows)-1].point.Time
	if step == 0 || first == last || (last-first)/int64(step) >= report.MaxSteps {
		return nil
	}
	var starts []int64
	for at := first; at <= last; at += int64(step) {
		starts = append(starts, at)
	}
	var all []report.Trend
	for i := range v.Series[:min(len(v.Series), report.MaxTrends)] {
		s := &v.Series[i]
		trend := report.Trend{Name: strings.Join(visibleCells(labelValues(s, names)), "  ")}
		for _, p := range s.Points {
			trend.Add(p.Time, p.Value)
		}
		all = append(all, trend)
	}
	return report.WriteTrends(w.w, "value", all, starts, w.width)
}

func visibleCells(cells []string) []string {
	shown := make([]string, len(cells))
	for i, cell := range cells {
		shown[i] = output.Visible(cell)
	}
	return shown
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

// labelValues are the values of labels of a series.
func labelValues(s *engine.Series, names []string) []string {
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = s.Labels.Get(name)
	}
	return values
}

// formatValue is a value as Prometheus writes it.
func formatValue(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
