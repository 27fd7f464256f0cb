package logql_test

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/logql/pipeline"
	"logstow/logql/syntax"
	"logstow/message/parse"
)

// opener makes a source of a dataset. The table can be evaluated over every store that has an opener.
type opener func(t testing.TB, records []*refRecord) engine.Source

// memory is a source of records in the order of time.
type memory struct {
	records []*refRecord
	streams map[string]*pipeline.Stream
	// applies: the source applies line filters and counts records itself, as stores do.
	applies bool
}

func openMemory(_ testing.TB, records []*refRecord) engine.Source {
	return newMemory(records, false)
}

func openCounting(_ testing.TB, records []*refRecord) engine.Source {
	return newMemory(records, true)
}

func newMemory(records []*refRecord, applies bool) memory {
	m := memory{records, map[string]*pipeline.Stream{}, applies}
	auto := parse.Auto()
	for _, r := range records {
		m.streams[streamKey(r)] = &pipeline.Stream{
			Parser: auto,
			Labels: labels.New(labels.Label{Name: labels.Service, Value: r.Service}, labels.Label{Name: labels.Level, Value: r.Level},
				labels.Label{Name: labels.Instance, Value: r.Instance}),
			Metadata: labels.New(labels.Label{Name: labels.DetectedLevel, Value: r.Level}, labels.Label{Name: labels.Source, Value: r.Source}),
		}
	}
	return m
}

func streamKey(r *refRecord) string {
	return r.Service + "\x00" + r.Level + "\x00" + r.Instance + "\x00" + r.Source
}

func (m memory) Applied(log *syntax.LogExpr) (n int) {
	for n < len(log.Stages) && m.applies {
		filter, ok := log.Stages[n].(*syntax.LineFilter)
		if !ok || slices.ContainsFunc(filter.Texts, func(text syntax.LineText) bool { return text.IP }) {
			break
		}
		n++
	}
	return n
}

// selected are the records of a selection.
func (m memory) selected(sel engine.Selection) (found []*refRecord) {
	n := m.Applied(sel.Log)
	for _, r := range m.records {
		if t := r.time(); t >= sel.From && t < sel.To && refSelects(sel.Log.Matchers, r) && newRow(r).process(sel.Log.Stages[:n]) {
			found = append(found, r)
		}
	}
	if sel.Newest {
		slices.Reverse(found)
	}
	if sel.Limit > 0 && n == len(sel.Log.Stages) && m.applies {
		found = found[:min(sel.Limit, len(found))]
	}
	return found
}

func (m memory) InOrder(ctx context.Context, sel engine.Selection, emit func(*engine.Record) error) error {
	return m.emit(ctx, m.selected(sel), emit)
}

func (m memory) emit(ctx context.Context, records []*refRecord, emit func(*engine.Record) error) error {
	for _, r := range records {
		if err := ctx.Err(); err != nil {
			return err
		}
		line := []byte(r.Line)
		err := emit(&engine.Record{Time: r.time(), Line: line, Stream: m.streams[streamKey(r)]})
		for i := range line { // as the line is valid until emit returns
			line[i] = '#'
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Each has two workers, one of which gets records in reverse. A source that applies filters begins again once, as if records had moved.
func (m memory) Each(ctx context.Context, sel engine.Selection, restart func(), newWorker func() engine.Worker) error {
	var parts [2][]*refRecord
	for i, r := range m.selected(sel) {
		parts[i/3%2] = append(parts[i/3%2], r)
	}
	slices.Reverse(parts[1])
	if m.applies {
		if err := m.emit(ctx, parts[0], newWorker().Add); err != nil {
			return err
		}
		restart()
	}
	var errs [2]error
	var running sync.WaitGroup
	for i, part := range parts {
		worker := newWorker()
		running.Go(func() { errs[i] = m.emit(ctx, part, worker.Add) })
	}
	running.Wait()
	return cmp.Or(errs[0], errs[1])
}

// Counts emits each record on its own.
func (m memory) Counts(_ context.Context, sel engine.Selection, by []string, _ bool, width time.Duration, emit func(labels.Labels, int64, uint64) error) (bool, error) {
	if !m.applies || m.Applied(sel.Log) < len(sel.Log.Stages) {
		return false, nil
	}
	for _, r := range m.selected(sel) {
		s := m.streams[streamKey(r)]
		end := sel.To - 1
		if width > 0 {
			end = r.time() + (int64(width)-r.time()%int64(width))%int64(width)
		}
		if err := emit(labels.New(append(slices.Clone(s.Labels), s.Metadata...)...).Keep(by...), end, 1); err != nil {
			return true, err
		}
	}
	return true, nil
}
