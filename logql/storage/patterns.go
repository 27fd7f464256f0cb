package storage

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"logstow/logql/engine"
	"logstow/logql/syntax"
	"logstow/query"
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

// Patterns returns the templates of the matching messages, at most limit, the most frequent first. Intervals have length
// width and start at multiples of it since 1970. It reads the records twice, because templates depend on all of them.
func (v *View) Patterns(ctx context.Context, matchers []*syntax.Matcher, from, to int64, width time.Duration, limit int) ([]Pattern, error) {
	s, err := v.plan(ctx, engine.Selection{Log: &syntax.LogExpr{Matchers: matchers}, From: from, To: to})
	if s == nil || err != nil {
		return nil, v.complete(err)
	}
	counter, err := s.PatternsOf(ctx, s.Plan, s.streams.wanted(), func() *patterns.Counter { return patterns.NewCounter(patterns.Range{From: from, To: to}) })
	if err != nil {
		return nil, v.complete(err)
	}
	templates := counter.Result().Templates
	templates = slices.DeleteFunc(templates, func(t patterns.Template) bool { return t.Text == "" })
	templates = templates[:min(limit, len(templates))]
	var workers []*patternWorker
	err = s.Each(ctx, s.Plan, func() { workers = nil }, func() func(query.Match) error {
		w := &patternWorker{streams: s.streams.newStreams(), width: int64(width), counts: make([]map[int64]uint64, len(templates))}
		for i, t := range templates {
			w.matchers = append(w.matchers, patterns.NewMatcher(t.Text))
			w.counts[i] = map[int64]uint64{}
		}
		workers = append(workers, w)
		return w.add
	})
	if err = v.complete(err); err != nil {
		return nil, err
	}
	found := make([]Pattern, 0, len(templates))
	for i, t := range templates {
		counts := map[int64]uint64{}
		for _, w := range workers {
			for at, n := range w.counts[i] {
				counts[at] += n
			}
		}
		p := Pattern{Pattern: t.Text, Level: levelLabel(mostFrequent(t.Levels))}
		for _, at := range slices.Sorted(maps.Keys(counts)) {
			p.Counts = append(p.Counts, engine.Point{Time: at, Value: float64(counts[at])})
		}
		if len(p.Counts) > 0 {
			found = append(found, p)
		}
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

// patternWorker counts records by pattern and interval.
type patternWorker struct {
	streams  *streams
	width    int64
	matchers []*patterns.Matcher
	counts   []map[int64]uint64
}

func (w *patternWorker) add(m query.Match) error {
	r := w.streams.convert(&m)
	if r == nil {
		return nil
	}
	for i, matcher := range w.matchers {
		if matcher.Matches(r.Line) {
			w.counts[i][r.Time-(r.Time%w.width+w.width)%w.width]++
			break
		}
	}
	return nil
}
