package storage

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"logstow/logql/engine"
	"logstow/logql/syntax"
	"logstow/query"
	"logstow/query/fetch"
	"logstow/query/merge"
	"logstow/query/patterns"
	"logstow/record"
)

// Pattern is a template of messages: text with <_> for variable parts.
type Pattern struct {
	Pattern string
	Level   string
	// Counts are its records by interval; Time is the start of the interval.
	Counts []engine.Point
}

// Patterns returns the templates of the matching messages, at most limit, the most frequent first. Each is a pattern of a line filter,
// |>, that matches at least the lines that it counts; lines without constant text have none. Intervals have length width and start at
// multiples of it since 1970. It reads the records twice, because templates depend on all of them.
func (v *View) Patterns(ctx context.Context, matchers []*syntax.Matcher, from, to int64, width time.Duration, limit int) ([]Pattern, error) {
	s, err := v.plan(ctx, engine.Selection{Log: &syntax.LogExpr{Matchers: matchers}, From: from, To: to})
	if s == nil || err != nil {
		return nil, v.complete(err)
	}
	counter, err := s.PatternsOf(ctx, s.Plan, s.streams.wanted(),
		func() *patterns.Counter { return patterns.NewCounter(patterns.Range{From: from, To: to}) })
	if err != nil {
		return nil, v.complete(err)
	}
	templates := slices.DeleteFunc(counter.Result().Templates, func(t patterns.Template) bool { return t.Text == "" })
	templates = templates[:min(limit, len(templates))]
	var workers []*patternWorker
	err = s.Each(ctx, s.Plan, nil, func() { workers = nil }, func() merge.Worker {
		w := &patternWorker{
			streams: s.streams.newStreams(), width: int64(width),
			classifier: patterns.NewClassifier(templates), found: make([]map[string]*patternCounts, len(templates)),
		}
		workers = append(workers, w)
		return w
	})
	if err = v.complete(err); err != nil {
		return nil, err
	}
	all := map[string]*patternCounts{}
	for _, w := range workers {
		for _, found := range w.found {
			for text, counts := range found {
				if all[text] == nil {
					all[text] = &patternCounts{times: map[int64]uint64{}}
				}
				all[text].merge(counts)
			}
		}
	}
	order := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(all[b].levels.Total(), all[a].levels.Total()), strings.Compare(a, b))
	})
	found := make([]Pattern, 0, min(limit, len(order)))
	for _, text := range order[:min(limit, len(order))] {
		p := Pattern{Pattern: text, Level: levelLabel(mostFrequent(all[text].levels))}
		for _, at := range slices.Sorted(maps.Keys(all[text].times)) {
			p.Counts = append(p.Counts, engine.Point{Time: at, Value: float64(all[text].times[at])})
		}
		found = append(found, p)
	}
	return found, nil
}

// mostFrequent is the level of most records.
func mostFrequent(levels record.Counts) record.Level {
	most := record.None
	for l, n := range levels {
		if cmp.Compare(n, levels[most]) > 0 {
			most = record.Level(l)
		}
	}
	return most
}

// maxForms is the number of patterns of a template: its lines may differ in what surrounds the message, and in parts that are empty.
const maxForms = 64

// patternWorker counts records by pattern and interval.
type patternWorker struct {
	merge.TextOnly
	streams    *streams
	width      int64
	classifier *patterns.Classifier
	found      []map[string]*patternCounts // by template
	text       []byte
}

// patternCounts are the records of a pattern by level, and by the start of their interval.
type patternCounts struct {
	levels record.Counts
	times  map[int64]uint64
}

func (c *patternCounts) merge(o *patternCounts) {
	c.levels.Add(o.levels)
	for at, n := range o.times {
		c.times[at] += n
	}
}

// Text implements [merge.Worker].
func (w *patternWorker) Text(_ *fetch.Task, origin *query.Segment, line []byte, columns *record.Columns) error {
	r, err := w.streams.record(origin, line, columns)
	if r == nil || err != nil {
		return err
	}
	template := 0
	template, w.text = w.classifier.AppendLine(w.text[:0], r.Line)
	if len(w.text) == 0 {
		return nil
	}
	found := w.found[template]
	if found == nil {
		found = map[string]*patternCounts{}
		w.found[template] = found
	}
	counts := found[string(w.text)]
	if counts == nil {
		if len(found) == maxForms {
			return nil
		}
		counts = &patternCounts{times: map[int64]uint64{}}
		found[string(w.text)] = counts
	}
	counts.levels[columns.Level]++
	counts.times[floor(r.Time, w.width)]++
	return nil
}
