package loki_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/logql/pipeline"
	"logstow/logql/storage"
	"logstow/logql/syntax"
	"logstow/message/parse"
	"logstow/query"
	"logstow/query/explain"
	"logstow/serve/loki"
)

// now is the time of all requests in tests.
var now = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// line is a record of the fake.
type line struct {
	at                       time.Time
	service, level, instance string
	text                     string
}

func (l *line) stream() *pipeline.Stream {
	return &pipeline.Stream{
		Parser: parse.Auto(),
		Labels: labels.New(labels.Label{Name: labels.Service, Value: l.service}, labels.Label{Name: labels.Level, Value: l.level},
			labels.Label{Name: labels.Instance, Value: l.instance}),
		Metadata: labels.New(labels.Label{Name: labels.DetectedLevel, Value: l.level}, labels.Label{Name: labels.Source, Value: "stdout"}),
	}
}

// fake is a backend over records in memory, oldest first.
type fake struct {
	lines  []line
	report query.Report
	// err, if set, ends every read.
	err error
	// reading, if set, is closed when a read begins, which then waits for its context.
	reading chan struct{}
	once    sync.Once
	// arrivals are emitted by Tail after the lines, with idle after each; ended gets the error that ended it.
	arrivals chan []line
	ended    chan error

	mu    sync.Mutex
	calls []string
}

// world is a fake with records of two services.
func world() *fake {
	at := func(before time.Duration) time.Time { return now.Add(-before) }
	return &fake{
		report: query.Report{SegmentsListed: 4, SegmentsPruned: 1, SegmentsRead: 2, BytesStoredRead: 500, BytesScanned: 2000},
		lines: []line{
			{at(50 * time.Minute), "web", "info", "a-1", `{"status":200,"took":"12ms","path":"/","user":{"name":"ann"}}`},
			{at(40 * time.Minute), "web", "error", "a-1", `{"status":503,"took":"1.5s","path":"/buy","level":"fatal"}`},
			{at(30 * time.Minute), "api", "warn", "b-1", `status=404 took=3ms path="/x y"`},
			{at(20*time.Minute + 1), "web", "info", "a-2", `{"status":200,"took":"8ms","path":"/"}`},
			{at(10 * time.Minute), "api", "info", "b-1", "quotes \" and \\, tab\t, \x1b[31mred\x1b[0m, bytes \xff\xfe, <é>\u2028"},
			{at(5 * time.Minute), "api", "unknown", "b-1", `status=200 took=1ms path=/y`},
		},
	}
}

func (f *fake) called(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, name)
	return f.err
}

func (f *fake) wait(ctx context.Context) error {
	if f.reading == nil {
		return nil
	}
	f.once.Do(func() { close(f.reading) })
	<-ctx.Done()
	return ctx.Err()
}

func matches(l *line, matchers []*syntax.Matcher) bool {
	all := l.stream()
	for _, m := range matchers {
		name := m.Name
		if name == "service" {
			name = labels.Service
		}
		value := cmp.Or(all.Labels.Get(name), all.Metadata.Get(name))
		ok := value == m.Value
		if m.Regexp != nil {
			ok = m.Regexp.MatchString(value)
		}
		if ok == (m.Op == syntax.MatchNotEqual || m.Op == syntax.MatchNotRegexp) {
			return false
		}
	}
	return true
}

// selected are the records of a range that match.
func (f *fake) selected(matchers []*syntax.Matcher, from, to int64) (found []*line) {
	for i := range f.lines {
		if at := f.lines[i].at.UnixNano(); at >= from && at < to && matches(&f.lines[i], matchers) {
			found = append(found, &f.lines[i])
		}
	}
	return found
}

func (f *fake) Report() query.Report { return f.report }

func (f *fake) Applied(*syntax.LogExpr) int { return 0 }

func (f *fake) InOrder(ctx context.Context, sel engine.Selection, emit func(*engine.Record) error) error {
	if err := cmp.Or(f.called("InOrder"), f.wait(ctx)); err != nil {
		return err
	}
	found := f.selected(sel.Log.Matchers, sel.From, sel.To)
	if sel.Newest {
		slices.Reverse(found)
	}
	for _, l := range found {
		if err := emit(&engine.Record{Time: l.at.UnixNano(), Line: []byte(l.text), Stream: l.stream()}); err != nil {
			return err
		}
	}
	return nil
}

func (f *fake) Each(ctx context.Context, sel engine.Selection, _ func(), newWorker func() engine.Worker) error {
	if err := cmp.Or(f.called("Each"), f.wait(ctx)); err != nil {
		return err
	}
	w := newWorker()
	for _, l := range f.selected(sel.Log.Matchers, sel.From, sel.To) {
		if err := w.Add(&engine.Record{Time: l.at.UnixNano(), Line: []byte(l.text), Stream: l.stream()}); err != nil {
			return err
		}
	}
	return nil
}

func (f *fake) Counts(context.Context, engine.Selection, []string, bool, time.Duration, func(labels.Labels, int64, uint64) error) (bool, error) {
	return false, nil
}

func (f *fake) Parts(_ context.Context, selectors [][]*syntax.Matcher, from, to int64, width time.Duration, emit func(storage.Part)) error {
	if err := f.called("Parts"); err != nil {
		return err
	}
	if selectors == nil {
		selectors = [][]*syntax.Matcher{nil}
	}
	seen := map[*line]bool{}
	for _, matchers := range selectors {
		for _, l := range f.selected(matchers, from, to) {
			if seen[l] {
				continue
			}
			seen[l] = true
			start := from
			if width > 0 {
				start = l.at.Truncate(width).UnixNano()
			}
			emit(storage.Part{Labels: l.stream().Labels, Start: start, Records: 1, Bytes: float64(len(l.text))})
		}
	}
	return nil
}

func (f *fake) Fields(_ context.Context, _ *syntax.LogExpr, from, to int64, lines, values int) ([]storage.Field, error) {
	if from >= to {
		return nil, errors.New("no range")
	}
	if err := f.called(fmt.Sprintf("Fields of %d lines", lines)); err != nil {
		return nil, err
	}
	fields := []storage.Field{
		{Label: "detected_level", Type: "string", Cardinality: 4, Values: []string{"error", "info", "unknown", "warn"}},
		{Label: "status", Type: "int", Parser: "json", Path: []string{"status"}, Cardinality: 3, Values: []string{"200", "404", "503"}},
		{Label: "took", Type: "duration", Parser: "logfmt", Cardinality: 2, Values: []string{"1ms", "3ms"}},
		{Label: "user_name", Type: "string", Parser: "json", Path: []string{"user", "name"}, Cardinality: 1, Values: []string{"ann"}},
	}
	for i := range fields {
		fields[i].Values = fields[i].Values[:min(values, len(fields[i].Values))]
	}
	return fields, nil
}

func (f *fake) Patterns(_ context.Context, _ []*syntax.Matcher, from, _ int64, width time.Duration, limit int) ([]storage.Pattern, error) {
	if err := f.called("Patterns"); err != nil {
		return nil, err
	}
	start := from - from%int64(width)
	return []storage.Pattern{
		{Pattern: "status=<_> took=<_> path=<_>", Level: "warn", Counts: []engine.Point{{Time: start, Value: 2}, {Time: start + int64(width), Value: 1}}},
		{Pattern: `quotes " <_>`, Counts: []engine.Point{{Time: start, Value: 1}}},
	}[:min(2, limit)], nil
}

func (f *fake) Estimate(_ context.Context, selections []engine.Selection) (storage.Estimate, error) {
	if err := f.called("Estimate"); err != nil {
		return storage.Estimate{}, err
	}
	e := storage.Estimate{Free: true}
	for _, sel := range selections {
		e.Segments++
		e.Records += uint64(len(f.selected(sel.Log.Matchers, sel.From, sel.To)))
	}
	e.Bytes, e.CostUSD = int64(e.Records)*100, float64(e.Segments)/4
	return e, nil
}

// Explain reports that records of other levels are in the range.
func (f *fake) Explain(_ context.Context, selections []engine.Selection, _ storage.ExplainOptions) ([]query.Reason, error) {
	if err := f.called("Explain"); err != nil {
		return nil, err
	}
	none := func(sel engine.Selection) bool { return len(f.selected(sel.Log.Matchers, sel.From, sel.To)) == 0 }
	switch {
	case len(selections) == 0:
		return nil, nil
	case !slices.ContainsFunc(selections, none):
		return []query.Reason{{Code: "stage", Text: "a stage excludes them; omit it", Fact: "a stage excludes them", Corrections: []explain.Correction{{{Kind: explain.FixSelector}}}}}, nil
	}
	return []query.Reason{
		{
			Code: "service-unknown", Text: `service "wbe" does not exist; nearest: web`, Culprits: []string{"wbe"},
			Corrections: []explain.Correction{{{Kind: explain.FixService, Old: "wbe", New: "web"}}},
		},
		{Code: "range-empty", Text: "the range has no records: --since 2h finds some", Fact: "the range has no records", Corrections: []explain.Correction{
			{{Kind: explain.FixRange, From: now.Add(-2 * time.Hour), Since: "2h"}},
			{{Kind: explain.FixRange, From: now.Add(-3 * time.Hour), To: now.Add(-2 * time.Hour)}},
		}},
	}, nil
}

func (f *fake) Tail(ctx context.Context, log *syntax.LogExpr, from int64, limit int, poll time.Duration, emit func(*engine.Entry) error, idle func() error) (err error) {
	defer func() { f.ended <- err }()
	if err := f.called("Tail"); err != nil {
		return err
	}
	if poll != 5*time.Second {
		return fmt.Errorf("polls every %v", poll)
	}
	send := func(all []*line) error {
		for _, l := range all {
			s := l.stream()
			if err := emit(&engine.Entry{Time: l.at.UnixNano(), Line: []byte(l.text), Stream: s.Labels, Metadata: s.Metadata, Text: strings.Contains(l.text, ` HTTP/1.1" `)}); err != nil {
				return err
			}
		}
		return idle()
	}
	found := f.selected(log.Matchers, from, now.UnixNano())
	if err := send(found[max(len(found)-limit, 0):]); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case more := <-f.arrivals:
			all := make([]*line, len(more))
			for i := range more {
				all[i] = &more[i]
			}
			if err := send(all); err != nil {
				return err
			}
		}
	}
}

func (f *fake) view(context.Context) loki.Backend { return f }

func fixedNow() time.Time { return now }
