package stats

import (
	"context"
	"iter"
	"slices"
	"time"

	"logstow/query/aggregate"
	"logstow/query/fetch"
	"logstow/query/merge"
	"logstow/query/source"

	"logstow/field"
	"logstow/field/where"
	"logstow/record"
	"logstow/segment"
)

// fromFooters counts records by metadata, which have counts by level, and by footers, which have counts by level and minute.
type fromFooters struct {
	*answerable
	*merge.Scheduler
	counts *worker
	err    error
}

// newFromFooters returns nil unless footers suffice for the computation.
func newFromFooters(c *Computation, s *merge.Scheduler, all *aggregate.Aggregation) *fromFooters {
	if !c.plan.CountsOnly() || !s.Matcher.TimeAndLevelOnly() || c.plan.RatesRecords() || !c.plan.Step.IsZero() && !c.plan.Step.Minutes() ||
		slices.ContainsFunc(c.conditions.Programs, func(p *where.Program) bool { return !p.LevelOnly() }) {
		return nil
	}
	for _, name := range c.values {
		if name.Fixed != field.Level && name.Fixed != field.Service && name.Fixed != field.Instance {
			return nil
		}
	}
	return &fromFooters{answerable: &answerable{c, s.Matcher}, Scheduler: s, counts: newWorker(c, all, s.Matcher)}
}

// add adds counts of records of a segment, at a time.
func (f *fromFooters) add(seg *source.Segment, at int64, levels record.Counts) {
	for level, n := range levels.All() {
		if !f.Matcher.Levels.Has(level) || f.err != nil {
			continue
		}
		w := f.counts
		w.record.Time, w.record.Values, w.text = at, w.record.Values[:0], w.text[:0]
		w.input = where.Record{Level: level, Service: seg.Name.Service, Instance: seg.Meta.Instance}
		for _, name := range f.values {
			w.record.Values = append(w.record.Values, w.fixed(name.Fixed))
		}
		w.evaluate()
		f.err = w.AddCount(&w.record, n)
	}
}

// unanswered counts the records that metadata and footers answer, and yields the blocks that must be read for the other records.
func (f *fromFooters) unanswered(ctx context.Context, segments []*source.Segment) iter.Seq[*fetch.Task] {
	return func(yield func(*fetch.Task) bool) {
		var unknown []*source.Segment
		for _, seg := range segments {
			if f.answers(seg) && f.samePeriod(seg.Meta.Start, seg.Meta.End) && f.MetadataSuffices(seg) {
				f.add(seg, seg.Meta.Start, seg.Meta.Levels)
				f.Recorder.ProcessedBytes(seg.Size)
			} else {
				unknown = append(unknown, seg)
			}
		}
		for o := range f.OpenAll(ctx, unknown) {
			if f.countedByParts(o) {
				continue
			}
			if o.Footer != nil && !f.plan.Step.IsZero() && f.answers(o.Segment) {
				f.addMinutes(o.Segment, o.Footer)
			}
			for _, t := range o.Tasks {
				if f.countedByFooter(t) {
					f.Recorder.Processed(t.Segment, t.Block.Stored)
					continue
				}
				if !yield(t) {
					return
				}
			}
		}
	}
}

// countedByParts counts an opened mixed segment by its parts, if that suffices.
func (f *fromFooters) countedByParts(o fetch.Opened) bool {
	if o.Parts == nil || f.answers(o.Segment) || !f.samePeriod(o.Segment.Meta.Start, o.Segment.Meta.End) ||
		!f.Matcher.LevelsSuffice(o.Segment.Meta.Start, o.Segment.Meta.End) {
		return false
	}
	for i := range o.Parts {
		f.add(&o.Parts[i], o.Segment.Meta.Start, o.Parts[i].Meta.Levels)
	}
	for _, t := range o.Tasks {
		f.Recorder.Processed(t.Segment, t.Block.Stored)
	}
	return true
}

// addMinutes adds the records of a footer's minutes: those at the start of a minute, and the others, may be in different steps.
func (f *fromFooters) addMinutes(seg *source.Segment, footer *segment.Footer) {
	for i, m := range footer.Minutes {
		start := m.Start * int64(time.Second)
		if footer.OnMinute != nil {
			if f.minuteInRange(start) {
				f.add(seg, start, footer.OnMinute[i])
			}
			for l, n := range footer.OnMinute[i] {
				m.Levels[l] -= n
			}
		}
		if f.minuteInRange(start + 1) {
			f.add(seg, start+1, m.Levels)
		}
	}
}

// countedByFooter reports whether a block need not be read: its minutes were counted, or it counts the block by the footer.
func (f *fromFooters) countedByFooter(t *fetch.Task) bool {
	if !f.answers(t.Segment) {
		return false
	}
	if !f.plan.Step.IsZero() {
		// Only the minutes at the ends of the range may be partly in it.
		m := f.Matcher
		first, last := max(t.Block.Start, m.From), min(t.Block.End, m.To-1)
		return f.minuteInRange(first) && f.minuteInRange(last)
	}
	if !f.Matcher.LevelsSuffice(t.Block.Start, t.Block.End) {
		return false
	}
	f.add(t.Segment, t.Block.Start, t.Block.Levels)
	return true
}
