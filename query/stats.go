package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"logstow/record"
)

// Row is a group of records in [Stats].
type Row struct {
	// Key holds a value for each of Stats.By; times are RFC 3339 in the zone asked for,
	// "-" stands for none.
	Key   []string
	Count uint64
}

// Stats are numbers of records by some of their properties.
type Stats struct {
	By []string
	// Rows are in the order of their times, if By has any; those of one time the
	// largest first, then in the order of their keys.
	Rows []Row
	// Total is the number of records.
	Total uint64
}

// ErrMemory ends [Query.Stats] if its groups would take more memory than the options allow.
var ErrMemory = errors.New("too many groups")

// Stats counts the records of a plan that match by the properties by: level,
// minute, hour, day, service, source, instance, or the name of a field of the
// message. Times are those of zone, nil is UTC. The limit is not looked at. What
// metadata and footers answer is not read. The counts are exact: if there are more
// groups than [Options.GroupMemory] is enough for, there are none, and the error is
// [ErrMemory].
func (q *Query) Stats(ctx context.Context, p *Plan, by []string, zone *time.Location) (stats *Stats, err error) {
	dims, err := newDimensions(by, zone)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSelection, err)
	}
	ctx, done := q.meter.stepContext(ctx)
	defer done()
	defer func() { err = errors.Join(err, q.scratch.release()) }()
	s := &counting{q: q, dims: dims, groups: newGroups(q.opts.GroupMemory)}
	tasks := q.scheduleBlocks(ctx, p.Segments)
	if s.footersSuffice = dims.inFooters() && q.matcher.timeAndLevelOnly(); s.footersSuffice {
		tasks = s.footers(ctx, p.Segments)
	}
	for local := range orderedParallel(ctx, q.blockWindow(), tasks, (*task).weight, s.block) {
		if s.groups.merge(local); s.groups.full {
			break
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if s.groups.full {
		return nil, fmt.Errorf("%w, more than %d", ErrMemory, len(s.groups.counts))
	}
	return s.result(), nil
}

// counting is Stats at work.
type counting struct {
	q    *Query
	dims dimensions
	// footersSuffice says that footers know what is asked for.
	footersSuffice bool
	groups         *groups
}

// add counts what is known of a segment without reading blocks.
func (s *counting) add(seg *Segment, at int64, levels record.Counts) {
	for l, n := range levels {
		if n == 0 || !s.q.matcher.levels.Has(record.Level(l)) {
			continue
		}
		s.groups.add(s.dims.key(&groupRecord{segment: seg, time: at, level: record.Level(l)}), n)
	}
}

// footers counts what metadata and footers answer, and yields the blocks that
// have to be read for the rest.
func (s *counting) footers(ctx context.Context, segments []*Segment) iter.Seq[*task] {
	return func(yield func(*task) bool) {
		var unknown []*Segment
		for _, seg := range segments {
			if s.dims.samePeriods(seg.Meta.Start, seg.Meta.End) && s.q.metadataSuffices(seg) {
				s.add(seg, seg.Meta.Start, seg.Meta.Levels)
				s.q.tally.processed.Add(seg.Size)
			} else {
				unknown = append(unknown, seg)
			}
		}
		w := window{first: parallel, max: parallel, bytes: 1}
		for o := range orderedParallel(ctx, w, slices.Values(unknown), func(*Segment) int64 { return 0 },
			func(ctx context.Context, seg *Segment) opened { return s.q.open(ctx, seg, 0) }) {
			if o.footer != nil && s.dims.timed() {
				for _, m := range o.footer.Minutes {
					if s.minuteInRange(m.Start) {
						s.add(o.segment, m.Start*int64(time.Second), m.Levels)
					}
				}
			}
			for _, t := range o.tasks {
				if s.answeredByFooter(t) {
					s.q.addProcessed(t.segment, t.block.Stored)
					continue
				}
				if !yield(t) {
					return
				}
			}
		}
	}
}

// minuteInRange reports whether all of a minute, in Unix seconds, is in the range.
func (s *counting) minuteInRange(minute int64) bool {
	m := s.q.matcher
	return minute*int64(time.Second) >= m.from && (minute+60)*int64(time.Second) <= m.to
}

func minuteOf(t int64) int64 {
	const ns = int64(time.Minute)
	m := t / ns
	if t%ns < 0 {
		m--
	}
	return m * 60
}

// answeredByFooter counts a block whose footer says enough, or reports whether the
// segment's minutes did.
func (s *counting) answeredByFooter(t *task) bool {
	if s.dims.timed() {
		// Only the minutes at the ends of the range may be cut.
		m := s.q.matcher
		first, last := max(t.block.Start, m.from), min(t.block.End, m.to-1)
		return s.minuteInRange(minuteOf(first)) && s.minuteInRange(minuteOf(last))
	}
	if !s.q.matcher.levelsSuffice(t.block.Start, t.block.End) {
		return false
	}
	s.add(t.segment, 0, t.block.Levels)
	return true
}

// block counts the records of a block.
func (s *counting) block(ctx context.Context, t *task) *groups {
	local := newGroups(s.q.opts.GroupMemory)
	dims := s.dims.clone()
	s.q.search(ctx, t, func(w *worker, text []byte) error {
		sub := groupRecord{segment: t.segment}
		var broken error
		err := w.scanner.scan(text, s.q.matcher.checksFor(t), func(start, end int) {
			line := text[start:end]
			f, _ := split(line)
			at, err := record.ParseTime(line[:record.TimeLen])
			if err != nil {
				broken = err
				return
			}
			if s.footersSuffice && s.dims.timed() && s.minuteInRange(minuteOf(at)) {
				return // its minute was counted
			}
			sub.time, sub.level, sub.source, sub.stored = at, f.level, f.source, f.message
			local.add(dims.key(&sub), 1)
		})
		if err == nil {
			err = broken
		}
		return err
	})
	return local
}

// result puts the groups in order.
func (s *counting) result() *Stats {
	out := &Stats{By: s.dims.names(), Total: s.groups.total}
	type entry struct {
		Row
		times string
	}
	all := make([]entry, 0, len(s.groups.counts))
	for key, n := range s.groups.counts {
		e := entry{Row: Row{Key: s.dims.split(key), Count: *n}}
		if s.dims.timed() {
			e.times = s.dims.times(key)
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(strings.Compare(a.times, b.times), cmp.Compare(b.Count, a.Count), slices.Compare(a.Key, b.Key))
	})
	for _, e := range all {
		out.Rows = append(out.Rows, e.Row)
	}
	return out
}
