package logql_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/logql/syntax"
)

// query is a line of the table: a query over a dataset. Want is its result written by hand, if not nil: of a log query the
// records in the order of time, each "LINE {labels}"; of a metric query at 10 minutes the series, each "{labels} value"; or
// refFails. All queries are compared with the slow evaluator as well.
type query struct {
	data, text string
	want       []string
}

const refFails = "error"

func q(data, text string, want ...string) query { return query{data, text, want} }

// empty is the result without anything.
func empty() []string { return []string{} }

// checkQueries evaluates queries over the sources that newSource makes, and compares the results.
func checkQueries(t *testing.T, newSource opener, queries []query) {
	data := datasets()
	sources := map[string]engine.Source{}
	for _, c := range queries {
		records, ok := data[c.data]
		if !ok {
			t.Fatalf("no dataset %q", c.data)
		}
		if sources[c.data] == nil {
			sources[c.data] = newSource(t, records)
		}
		if err := checkQuery(sources[c.data], records, c); err != nil {
			t.Errorf("over %s: %s\n%v", c.data, c.text, err)
		}
	}
}

func checkQuery(source engine.Source, records []*refRecord, c query) error {
	expr, err := syntax.Parse(c.text)
	if err != nil {
		return err
	}
	e := &engine.Engine{Source: source}
	if log, ok := expr.(*syntax.LogExpr); ok {
		return checkLogs(e, records, log, c.want)
	}
	return checkMetric(e, records, expr.(syntax.SampleExpr), c.want)
}

// minutes is a time of the datasets.
func minutes(m float64) int64 {
	return refStart().Add(time.Duration(m * float64(time.Minute))).UnixNano()
}

func checkLogs(e *engine.Engine, records []*refRecord, log *syntax.LogExpr, want []string) error {
	for _, p := range []engine.LogParams{
		{From: minutes(0), To: minutes(60)},
		{From: minutes(0), To: minutes(60), Newest: true, Limit: 3},
		{From: minutes(0.5), To: minutes(6), Newest: true},
		{From: minutes(1.5), To: minutes(5), Limit: 2},
		{From: minutes(30), To: minutes(60)},
	} {
		expected := refLogs(records, log, p.From, p.To)
		if p.Newest {
			slices.Reverse(expected)
		}
		if p.Limit > 0 {
			expected = expected[:min(p.Limit, len(expected))]
		}
		var got []refEntry
		p.Fields = true
		err := e.Logs(context.Background(), log, p, func(entry *engine.Entry) error {
			got = append(got, refEntry{entry.Time, string(entry.Line), labelMap(entry.Stream), labelMap(entry.Metadata), labelMap(entry.Parsed), labelMap(entry.Fields)})
			return nil
		})
		if err != nil {
			return fmt.Errorf("%+v: %w", p, err)
		}
		if err := sameEntries(got, expected); err != nil {
			return fmt.Errorf("%+v: %w", p, err)
		}
		if want != nil && p.Limit == 0 && !p.Newest && p.From == minutes(0) {
			texts := []string{}
			for _, entry := range got {
				all := maps.Clone(entry.stream)
				maps.Copy(all, entry.metadata)
				maps.Copy(all, entry.parsed)
				texts = append(texts, entry.line+" "+showLabels(all))
			}
			if !slices.Equal(texts, want) {
				return fmt.Errorf("%s\nas written by hand: %s", strings.Join(texts, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	return nil
}

func sameEntries(got, want []refEntry) error {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Errorf("%d entries, want %d; the first missing one is %q", len(got), len(want), want[i].line)
		case i >= len(want):
			return fmt.Errorf("%d entries, want %d; the first that is too much is %q", len(got), len(want), got[i].line)
		}
		g, w := got[i], want[i]
		if hideDetails(&g) != hideDetails(&w) {
			return fmt.Errorf("entry %d has details of an error: %v\nwant %v", i, got[i].parsed, want[i].parsed)
		}
		if g.time != w.time || g.line != w.line || key(g.stream) != key(w.stream) || key(g.metadata) != key(w.metadata) || key(g.parsed) != key(w.parsed) || key(g.fields) != key(w.fields) {
			return fmt.Errorf("entry %d: %v\nwant %v", i, g, w)
		}
	}
	return nil
}

// hideDetails removes __error_details__, whose text is free, and reports whether an error has some.
func hideDetails(entry *refEntry) bool {
	has := entry.parsed[refDetails] != "" && entry.parsed[refError] != ""
	entry.parsed = maps.Clone(entry.parsed)
	delete(entry.parsed, refDetails)
	return has
}

func showLabels(all map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name != refDetails {
			pairs = append(pairs, name+"="+strconv.Quote(all[name]))
		}
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}

// metricTimes are those that metric queries are evaluated at: instants at a record's time, between records, and behind all
// of them; ranges with steps shorter and longer than the windows of the table.
func metricTimes() []engine.MetricParams {
	return []engine.MetricParams{
		{Start: minutes(10), End: minutes(10)},
		{Start: minutes(2), End: minutes(2)},
		{Start: minutes(3.76), End: minutes(3.76)},
		{Start: minutes(180), End: minutes(180)},
		{Start: minutes(0), End: minutes(20), Step: time.Minute},
		{Start: minutes(1), End: minutes(19.9), Step: 370 * time.Second},
		{Start: minutes(0.5), End: minutes(3), Step: 10 * time.Second},
		{Start: minutes(8), End: minutes(8.1), Step: 1500 * time.Millisecond},
	}
}

func checkMetric(e *engine.Engine, records []*refRecord, expr syntax.SampleExpr, want []string) error {
	reference := &evaluator{records: records, known: map[*syntax.LogRange][]sample{}, sums: map[*syntax.RangeAggregation]*syntax.VectorAggregation{}}
	for _, p := range metricTimes() {
		got, err := e.Metric(context.Background(), expr, p)
		expected, refErr := reference.metric(expr, p)
		at := fmt.Sprintf("start %v, end %v, step %v", time.Duration(p.Start-minutes(0)), time.Duration(p.End-minutes(0)), p.Step)
		switch {
		case err != nil && !errors.Is(err, engine.ErrQuery):
			return fmt.Errorf("%s: the error is not one of the query: %w", at, err)
		case err == nil && refErr != nil:
			return fmt.Errorf("%s: no error, but %d series", at, len(got.Series))
		case err != nil && refErr == nil:
			return fmt.Errorf("%s: %w\nwant %v", at, err, expected)
		case err == nil:
			if diff := sameValue(got, expected); diff != nil {
				return fmt.Errorf("%s: %w", at, diff)
			}
		}
		if want != nil && p.Start == minutes(10) {
			if texts := showValue(got, err); !slices.Equal(texts, want) {
				return fmt.Errorf("%s\nas written by hand: %s", strings.Join(texts, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	return nil
}

func showValue(v *engine.Value, err error) []string {
	if err != nil {
		return []string{refFails}
	}
	texts := []string{}
	for _, s := range v.Series {
		texts = append(texts, showLabels(labelMap(s.Labels))+" "+strconv.FormatFloat(s.Points[0].Value, 'g', 12, 64))
	}
	return texts
}

// metric evaluates a query at all times.
func (e *evaluator) metric(expr syntax.SampleExpr, p engine.MetricParams) (*engine.Value, error) {
	result := &engine.Value{}
	series := map[string]int{}
	for t := p.Start; t <= p.End; t += int64(max(p.Step, 1)) {
		value, err := e.at(expr, t, map[string]bool{})
		if err != nil {
			return nil, err
		}
		result.Scalar = value.number
		for _, el := range value.elements {
			k := key(el.labels)
			if _, ok := series[k]; !ok {
				series[k] = len(result.Series)
				var all []labels.Label
				for name, value := range el.labels {
					all = append(all, labels.Label{Name: name, Value: value})
				}
				result.Series = append(result.Series, engine.Series{Labels: labels.Join(all)})
			}
			s := &result.Series[series[k]]
			s.Points = append(s.Points, engine.Point{Time: t, Value: el.value})
		}
	}
	if p.Step == 0 {
		if outermost, ok := expr.(*syntax.VectorAggregation); ok {
			if selects(outermost.Op) || outermost.Op == syntax.Sort || outermost.Op == syntax.SortDesc {
				return result, nil
			}
		}
	}
	slices.SortFunc(result.Series, func(a, b engine.Series) int { return labels.Compare(a.Labels, b.Labels) })
	return result, nil
}

func sameValue(got, want *engine.Value) error {
	if got.Scalar != want.Scalar {
		return fmt.Errorf("scalar: %v, want %v", got.Scalar, want.Scalar)
	}
	for i := range max(len(got.Series), len(want.Series)) {
		switch {
		case i >= len(got.Series):
			return fmt.Errorf("%d series, want %d; the first missing one is %v", len(got.Series), len(want.Series), want.Series[i])
		case i >= len(want.Series):
			return fmt.Errorf("%d series, want %d; the first that is too much is %v", len(got.Series), len(want.Series), got.Series[i])
		}
		g, w := got.Series[i], want.Series[i]
		same := func(a, b engine.Point) bool { return a.Time == b.Time && sameFloat(a.Value, b.Value) }
		if key(labelMap(g.Labels.Without(refDetails))) != key(labelMap(w.Labels.Without(refDetails))) || !slices.EqualFunc(g.Points, w.Points, same) {
			return fmt.Errorf("series %d: %v\nwant %v", i, g, w)
		}
	}
	return nil
}

func sameFloat(a, b float64) bool {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.IsNaN(a) && math.IsNaN(b)
	}
	return a == b || math.Abs(a-b) <= 1e-12*max(math.Abs(a), math.Abs(b))
}

// labelMap is labels as a map.
func labelMap(ls labels.Labels) map[string]string {
	m := map[string]string{}
	for _, l := range ls {
		m[l.Name] = l.Value
	}
	return m
}
