package storage

import (
	"context"
	"iter"
	"slices"
	"time"

	"logstow/internal/memo"
	"logstow/logql/engine"
	"logstow/logql/labels"
	"logstow/logql/pipeline"
	"logstow/logql/syntax"
	"logstow/query"
	"logstow/record"
	"logstow/segment"
)

const (
	// textSamples is the number of segments whose footers are read to estimate the size of messages.
	textSamples = 32
	// foreignSize is the assumed size of a record if there are only foreign segments.
	foreignSize = 100
)

// Part is the records of a stream in an interval of a segment.
type Part struct {
	// Labels are those of the stream; parts of one stream mostly share them.
	Labels labels.Labels
	// Start is the start of the interval in Unix nanoseconds.
	Start int64
	// Records is about the number of the records, Bytes that of the bytes of their messages.
	Records, Bytes float64
}

// Parts calls emit with the parts of the streams that match all matchers of at least one selector, in no order; no selectors is all
// streams. It considers the records in [from, to), in Unix nanoseconds. Intervals have length width and start at multiples of it since
// 1970; width 0 is one interval, from from on. Numbers are estimates by metadata and, of records with label attributes, by footers. It
// reads no text.
func (v *View) Parts(ctx context.Context, selectors [][]*syntax.Matcher, from, to int64, width time.Duration, emit func(Part)) error {
	if len(selectors) == 0 {
		selectors = [][]*syntax.Matcher{nil}
	}
	p := parts{
		span:     span{from, to, int64(width)},
		emit:     emit,
		labels:   memo.Map[streamKey, labels.Labels]{Max: maxLabels},
		interned: memo.Map[string, string]{Max: maxLabels},
	}
	if len(selectors) > 1 {
		p.seen = map[partID]bool{}
	}
	for _, matchers := range selectors {
		sel := engine.Selection{Log: &syntax.LogExpr{Matchers: matchers}, From: from, To: to}
		err := v.eachPlan(ctx, sel, func(s *selected, share float64) error {
			sizes, err := s.Text(ctx, s.Plan, max(1, int(textSamples*share)))
			if err != nil {
				return err
			}
			p.of, p.sizes = s, averages(sizes)
			defer func() { p.of = nil }() // its segments take memory while the next plan is made
			return s.EachWritten(ctx, s.Plan, p.add)
		})
		if err != nil {
			return v.complete(err)
		}
	}
	return v.complete(nil)
}

// span is the range [from, to), in Unix nanoseconds, in intervals of a width; 0 is one interval.
type span struct{ from, to, width int64 }

// interval returns the start of the interval of a time in the range, and its end.
func (s span) interval(at int64) (start, end int64) {
	if s.width == 0 {
		return s.from, s.to
	}
	start = floor(at, s.width)
	return start, min(start+s.width, s.to)
}

// floor returns the last multiple of a width that is not after a time.
func floor(at, width int64) int64 { return at - (at%width+width)%width }

// maxLabels is the number of streams whose labels parts remember, and that of texts of which these consist.
const maxLabels = 4096

// parts finds the parts of segments.
type parts struct {
	span
	emit func(Part)
	// labels are those of streams found before, interned the texts of which they consist.
	labels   memo.Map[streamKey, labels.Labels]
	interned memo.Map[string, string]
	// seen are the records that were found; nil if there is one selector only.
	seen map[partID]bool
	// of is the current plan, sizes has the mean size of a record of its services.
	of    *selected
	sizes func(service string) float64
}

// partID identifies records of a segment.
type partID struct {
	segment string
	key     streamKey
}

// add adds the parts of a segment; footer is nil if its records have no label attributes.
func (p *parts) add(seg *query.Segment, footer *segment.Footer) {
	if footer == nil {
		p.addMeta(seg)
		return
	}
	for i := range footer.Labels {
		p.addLabels(seg, footer, &footer.Labels[i])
	}
}

// addMeta adds the parts of a segment by its metadata: records are spread evenly between the first and the last.
func (p *parts) addMeta(seg *query.Segment) {
	start, end := max(seg.Meta.Start, p.from), min(seg.Meta.End+1, p.to)
	if start >= end {
		return
	}
	size := p.sizes(seg.Name.Service)
	levels := seg.Meta.Levels
	if seg.Foreign {
		levels[record.None] = max(1, uint64(float64(seg.Size)/size))
	}
	for level, n := range levels.All() {
		of := p.stream(seg, streamKey{service: seg.Name.Service, instance: seg.Meta.Instance, level: level}, nil)
		if of == nil {
			continue
		}
		records := float64(n) / float64(seg.Meta.End+1-seg.Meta.Start)
		for at := start; at < end; {
			interval, until := p.interval(at)
			until = min(until, end)
			in := records * float64(until-at)
			p.emit(Part{of, interval, in, in * size})
			at = until
		}
	}
}

// addLabels adds the parts of the records with a combination of label attributes: between the first and the last of them, they are spread
// over the minutes of the segment as the segment's records are.
func (p *parts) addLabels(seg *query.Segment, footer *segment.Footer, l *segment.Labels) {
	start, end := max(l.Start, p.from), min(l.End+1, p.to)
	if start >= end {
		return
	}
	size := float64(l.Bytes) / float64(l.Levels.Total())
	for level, n := range l.Levels.All() {
		of := p.stream(seg, streamKey{service: seg.Name.Service, instance: l.Instance, level: level, labels: l.Text}, footer.Unlisted)
		switch {
		case of == nil:
			continue
		case p.width == 0 && l.Start >= p.from && l.End < p.to:
			p.emit(Part{of, p.from, float64(n), float64(n) * size})
			continue
		}
		for interval, share := range p.shares(footer.Minutes, level, l) {
			p.emit(Part{of, interval, float64(n) * share, float64(n) * share * size})
		}
	}
}

// shares yields the shares of the records of a combination in the intervals of the range.
func (p *parts) shares(minutes []record.Minute, level record.Level, l *segment.Labels) iter.Seq2[int64, float64] {
	// overlap returns the part of a minute's records that is between two times.
	overlap := func(m *record.Minute, from, to int64) float64 {
		const minute = int64(time.Minute)
		return float64(m.Levels[level]) * float64(max(0, min(to, m.Start*1e9+minute)-max(from, m.Start*1e9))) / float64(minute)
	}
	return func(yield func(int64, float64) bool) {
		all := 0.0
		for i := range minutes {
			all += overlap(&minutes[i], l.Start, l.End+1)
		}
		current, in := p.from, 0.0
		for i := range minutes {
			m := &minutes[i]
			end := min((m.Start+60)*1e9, l.End+1, p.to)
			for at := max(m.Start*1e9, l.Start, p.from); at < end; {
				interval, until := p.interval(at)
				if interval != current && in > 0 && !yield(current, in/all) {
					return
				}
				if interval != current {
					current, in = interval, 0
				}
				until = min(until, end)
				in += overlap(m, at, until)
				at = until
			}
		}
		if in > 0 {
			yield(current, in/all)
		}
	}
}

// stream returns the labels of the stream with a key, whose label attributes are those of records of a segment; nil if the selector rejects
// it, or an earlier selector has found its records in the segment. A matcher of an attribute with a name in unlisted accepts it: the value is
// unknown.
func (p *parts) stream(seg *query.Segment, key streamKey, unlisted []string) labels.Labels {
	selector := p.of.streams.selector
	if !selector.levels.Has(key.level) || !selector.instance(key.instance) {
		return nil
	}
	of := p.labels.Get(key, func() labels.Labels {
		of := streamLabels(key.service, key.instance, levelLabel(key.level), key.labels)
		for i := range of {
			of[i] = labels.Label{Name: p.intern(of[i].Name), Value: p.intern(of[i].Value)}
		}
		return of
	})
	rest, ok := selector.undecided(of)
	if !ok || slices.ContainsFunc(rest, func(m *syntax.Matcher) bool { return !m.Matches("") && !isUnlisted(unlisted, m.Name) }) {
		return nil
	}
	if p.seen != nil {
		id := partID{seg.Store + " " + seg.String(), key}
		if p.seen[id] {
			return nil
		}
		p.seen[id] = true
	}
	return of
}

// intern returns the same string for equal texts, so that labels that the caller keeps take less memory.
func (p *parts) intern(text string) string {
	return p.interned.Get(text, func() string { return text })
}

// isUnlisted reports whether the attribute with a label is one of those that a footer does not list.
func isUnlisted(unlisted []string, label string) bool {
	return slices.ContainsFunc(unlisted, func(name string) bool { return name == segment.AllUnlisted || pipeline.LabelName(name) == label })
}

// averages returns a function for the mean size of a record of a service, or of all services if its size is unknown.
func averages(sizes map[string]query.TextSize) func(service string) float64 {
	var all query.TextSize
	for _, size := range sizes {
		all.Bytes += size.Bytes
		all.Records += size.Records
	}
	return func(service string) float64 {
		for _, size := range []query.TextSize{sizes[service], all} {
			if size.Records > 0 {
				return float64(size.Bytes) / float64(size.Records)
			}
		}
		return foreignSize
	}
}
