package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/logql/pipeline"
	"logstow/logql/syntax"
)

// memory is a source of records in memory. It applies leading line filters with contains if filters is set.
type memory struct {
	records []engine.Record
	workers int        // 0 is 1
	shuffle *rand.Rand // order of Each; nil is that of records
	filters bool
	counts  bool
	// calls are what the source was asked for.
	calls []string
	// before is called before each record.
	before func()
}

func at(seconds float64) int64 { return int64(seconds * 1e9) }

// add adds a record of a stream with labels a=b,c=d and metadata behind a bar: a=b|source=s.
func (m *memory) add(seconds float64, stream, line string) {
	own, meta, _ := strings.Cut(stream, "|")
	m.records = append(m.records, engine.Record{Time: at(seconds), Line: []byte(line), Stream: &pipeline.Stream{Labels: labelsOf(own), Metadata: labelsOf(meta)}})
}

func labelsOf(text string) labels.Labels {
	var all []labels.Label
	for item := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(item, "=")
		all = append(all, labels.Label{Name: name, Value: value})
	}
	return labels.New(all...)
}

func (m *memory) Applied(log *syntax.LogExpr) int {
	n := 0
	for n < len(log.Stages) && m.filters {
		f, ok := log.Stages[n].(*syntax.LineFilter)
		if !ok || f.Op > syntax.LineNotContain {
			break
		}
		n++
	}
	return n
}

func (m *memory) match(sel engine.Selection, r *engine.Record) bool {
	if r.Time < sel.From || r.Time >= sel.To {
		return false
	}
	for _, c := range sel.Log.Matchers {
		value := r.Stream.Labels.Get(c.Name)
		if value == "" {
			value = r.Stream.Metadata.Get(c.Name)
		}
		var ok bool
		switch c.Op {
		case syntax.MatchEqual:
			ok = value == c.Value
		case syntax.MatchNotEqual:
			ok = value != c.Value
		case syntax.MatchRegexp:
			ok = c.Regexp.MatchString(value)
		default:
			ok = !c.Regexp.MatchString(value)
		}
		if !ok {
			return false
		}
	}
	for _, s := range sel.Log.Stages[:m.Applied(sel.Log)] {
		f := s.(*syntax.LineFilter)
		found := slices.ContainsFunc(f.Texts, func(t syntax.LineText) bool { return bytes.Contains(r.Line, []byte(t.Text)) })
		if found != (f.Op == syntax.LineContains) {
			return false
		}
	}
	return sel.Records == nil || sel.Records.Keeper().Process(0, nil, r.Line, r.Stream)
}

func (m *memory) called(format string, args ...any) {
	m.calls = append(m.calls, fmt.Sprintf(format, args...))
}

func (m *memory) InOrder(ctx context.Context, sel engine.Selection, emit func(*engine.Record) error) error {
	m.called("in order %s limit %d", sel.Log, sel.Limit)
	all := slices.Clone(m.records)
	slices.SortStableFunc(all, func(a, b engine.Record) int { return int(a.Time - b.Time) })
	if sel.Newest {
		slices.Reverse(all)
	}
	emitted := 0
	for i := range all {
		if !m.match(sel, &all[i]) {
			continue
		}
		if m.before != nil {
			m.before()
		}
		if err := emit(&all[i]); err != nil {
			return err
		}
		if emitted++; emitted == sel.Limit {
			return nil
		}
	}
	return nil
}

func (m *memory) Each(ctx context.Context, sel engine.Selection, _ func(), newWorker func() engine.Worker) error {
	m.called("each %s %d-%d", sel.Log, sel.From/1e9, sel.To/1e9)
	order := make([]int, len(m.records))
	for i := range order {
		order[i] = i
	}
	if m.shuffle != nil {
		m.shuffle.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	n := max(m.workers, 1)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for w := range n {
		worker := newWorker()
		wg.Go(func() {
			for i := w; i < len(order) && errs[w] == nil; i += n {
				if r := &m.records[order[i]]; m.match(sel, r) {
					if m.before != nil {
						m.before()
					}
					errs[w] = worker.Add(r)
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (m *memory) Counts(_ context.Context, sel engine.Selection, by []string, _ bool, width time.Duration, emit func(labels.Labels, int64, uint64) error) (bool, error) {
	if !m.counts {
		return false, nil
	}
	m.called("counts %s by %s width %s", sel.Log, strings.Join(by, ","), width)
	for i := range m.records {
		r := &m.records[i]
		if !m.match(sel, r) {
			continue
		}
		end := sel.To - 1
		if width > 0 {
			end = r.Time + (int64(width)-r.Time%int64(width))%int64(width)
		}
		ls := labels.New(slices.Concat(r.Stream.Labels, r.Stream.Metadata)...).Keep(by...)
		if err := emit(ls, end, 1); err != nil {
			return true, err
		}
	}
	return true, nil
}

func parse(t testing.TB, query string) syntax.Expr {
	t.Helper()
	e, err := syntax.Parse(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return e
}

// params are those of a range in seconds, or of an instant for one number: "10" or "0 60 10".
func params(t testing.TB, text string) engine.MetricParams {
	t.Helper()
	var n []float64
	for f := range strings.FieldsSeq(text) {
		x, err := strconv.ParseFloat(f, 64)
		if err != nil {
			t.Fatal(err)
		}
		n = append(n, x)
	}
	if len(n) == 1 {
		return engine.MetricParams{Start: at(n[0]), End: at(n[0])}
	}
	return engine.MetricParams{Start: at(n[0]), End: at(n[1]), Step: time.Duration(at(n[2]))}
}

// metric is the result of a query as text: a line for each series, with points as SECONDS:VALUE; or the error.
func metric(t testing.TB, src engine.Source, limits engine.Limits, query, when string) string {
	t.Helper()
	expr, ok := parse(t, query).(syntax.SampleExpr)
	if !ok {
		t.Fatalf("%s is no metric query", query)
	}
	e := &engine.Engine{Source: src, Limits: limits}
	v, err := e.Metric(t.Context(), expr, params(t, when))
	if err != nil {
		return "error: " + err.Error()
	}
	return text(v)
}

func text(v *engine.Value) string {
	var b strings.Builder
	if v.Scalar {
		b.WriteString("scalar ")
	}
	for _, s := range v.Series {
		b.WriteString(s.Labels.String())
		for _, p := range s.Points {
			fmt.Fprintf(&b, " %s:%s", strconv.FormatFloat(float64(p.Time)/1e9, 'g', -1, 64), strconv.FormatFloat(p.Value, 'g', -1, 64))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
