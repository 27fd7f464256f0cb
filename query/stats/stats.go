// Package stats counts the records that a query selects, in all or by their properties. What
// metadata and footers answer is not read.
package stats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"logstow/query/fetch"
	"logstow/query/match"
	"logstow/query/merge"
	"logstow/query/source"

	"logstow/record"
)

// Row is a group of records in [Stats].
type Row struct {
	// Key has a value for each of Stats.By; times are RFC 3339 in the requested zone,
	// "-" is none.
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

// ErrMemory ends [CountBy] if its groups would take more memory than allowed.
var ErrMemory = errors.New("too many groups")

// Count is the number of records of segments that match. What metadata and footers answer is not read.
func Count(ctx context.Context, s *merge.Scheduler, segments []*source.Segment) (n uint64) {
	unread := make([]*source.Segment, 0, len(segments))
	for _, seg := range segments {
		if s.MetadataSuffices(seg) {
			n += s.Matcher.Levels.Count(seg.Meta.Levels)
			s.Recorder.ProcessedBytes(seg.Size)
		} else {
			unread = append(unread, seg)
		}
	}
	for count := range fetch.OrderedParallel(ctx, s.BlockWindow(), s.Blocks(ctx, unread), (*fetch.Task).Weight, s.Count) {
		n += count
	}
	return n
}

// CountBy counts the records of segments that match by their properties. memory is about
// the number of bytes that the groups may take.
func CountBy(ctx context.Context, s *merge.Scheduler, segments []*source.Segment, by []string, zone *time.Location, memory int64) (*Stats, error) {
	dims, err := newDimensions(by, zone)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", match.ErrSelection, err)
	}
	c := &counting{Scheduler: s, dims: dims, memory: memory, groups: newGroups(memory)}
	tasks := s.Blocks(ctx, segments)
	if c.footersSuffice = dims.inFooters() && s.Matcher.TimeAndLevelOnly(); c.footersSuffice {
		tasks = c.footers(ctx, segments)
	}
	for local := range fetch.OrderedParallel(ctx, s.BlockWindow(), tasks, (*fetch.Task).Weight, c.block) {
		if c.groups.merge(local); c.groups.full {
			break
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if c.groups.full {
		return nil, fmt.Errorf("%w, more than %d", ErrMemory, len(c.groups.counts))
	}
	return c.result(), nil
}

// counting is the state of [CountBy].
type counting struct {
	*merge.Scheduler
	memory int64
	dims   dimensions
	// footersSuffice is set if footers have the counts.
	footersSuffice bool
	groups         *groups
}

// add counts records of a segment by metadata, without reading blocks.
func (s *counting) add(seg *source.Segment, at int64, levels record.Counts) {
	for l, n := range levels {
		if n == 0 || !s.Matcher.Levels.Has(record.Level(l)) {
			continue
		}
		s.groups.add(s.dims.key(&groupRecord{service: seg.Name.Service, instance: seg.Meta.Instance, time: at, Columns: record.Columns{Level: record.Level(l)}}), n)
	}
}

// footers counts what metadata and footers answer, and yields the blocks that
// have to be read for the rest.
func (s *counting) footers(ctx context.Context, segments []*source.Segment) iter.Seq[*fetch.Task] {
	return func(yield func(*fetch.Task) bool) {
		var unknown []*source.Segment
		for _, seg := range segments {
			if s.footerAnswers(seg) && s.dims.samePeriods(seg.Meta.Start, seg.Meta.End) && s.MetadataSuffices(seg) {
				s.add(seg, seg.Meta.Start, seg.Meta.Levels)
				s.Recorder.ProcessedBytes(seg.Size)
			} else {
				unknown = append(unknown, seg)
			}
		}
		w := fetch.Window{First: source.MaxInFlight, Max: source.MaxInFlight, Bytes: 1}
		for o := range fetch.OrderedParallel(ctx, w, slices.Values(unknown), func(*source.Segment) int64 { return 0 },
			func(ctx context.Context, seg *source.Segment) fetch.Opened { return s.Open(ctx, seg, 0) }) {
			if s.countedByInputs(o) {
				continue
			}
			if o.Footer != nil && s.dims.timed() && s.footerAnswers(o.Segment) {
				for _, m := range o.Footer.Minutes {
					if s.minuteInRange(m.Start) {
						s.add(o.Segment, m.Start*int64(time.Second), m.Levels)
					}
				}
			}
			for _, t := range o.Tasks {
				if s.answeredByFooter(t) {
					s.Recorder.Processed(t.Segment, t.Block.Stored)
					continue
				}
				if !yield(t) {
					return
				}
			}
		}
	}
}

// footerAnswers reports whether a segment's metadata and footer count its records by the
// dimensions: not those of an output of compaction by instance, or without some of its inputs.
func (s *counting) footerAnswers(seg *source.Segment) bool {
	return seg.Excluded == nil && (!seg.Meta.IsOutput() || !s.dims.byInstance())
}

// countedByInputs counts an opened output of compaction by its list of inputs, if that says enough.
func (s *counting) countedByInputs(o fetch.Opened) bool {
	if o.Inputs == nil || s.footerAnswers(o.Segment) || !s.dims.samePeriods(o.Segment.Meta.Start, o.Segment.Meta.End) ||
		!s.Matcher.LevelsSuffice(o.Segment.Meta.Start, o.Segment.Meta.End) {
		return false
	}
	for i := range o.Inputs {
		if !o.Segment.Excluded[i] {
			s.add(&o.Inputs[i], o.Segment.Meta.Start, o.Inputs[i].Meta.Levels)
		}
	}
	for _, t := range o.Tasks {
		s.Recorder.Processed(t.Segment, t.Block.Stored)
	}
	return true
}

// minuteInRange reports whether all of a minute, in Unix seconds, is in the range.
func (s *counting) minuteInRange(minute int64) bool {
	m := s.Matcher
	return minute*int64(time.Second) >= m.From && (minute+60)*int64(time.Second) <= m.To
}

// answeredByFooter counts a block whose footer is enough, or reports whether the
// segment's minutes did.
func (s *counting) answeredByFooter(t *fetch.Task) bool {
	if !s.footerAnswers(t.Segment) {
		return false
	}
	if s.dims.timed() {
		// Only the minutes at the ends of the range may be cut.
		m := s.Matcher
		first, last := max(t.Block.Start, m.From), min(t.Block.End, m.To-1)
		return s.minuteInRange(record.MinuteOf(first)) && s.minuteInRange(record.MinuteOf(last))
	}
	if !s.Matcher.LevelsSuffice(t.Block.Start, t.Block.End) {
		return false
	}
	s.add(t.Segment, 0, t.Block.Levels)
	return true
}

// block counts the records of a block.
func (s *counting) block(ctx context.Context, t *fetch.Task) *groups {
	local := newGroups(s.memory)
	dims := s.dims.clone()
	dims.use(s.Matcher.FieldsOf(t.Segment.Meta.Parse).Parser)
	footer := s.footersSuffice && s.footerAnswers(t.Segment)
	of := groupRecord{service: t.Segment.Name.Service}
	s.Each(ctx, t, dims.byInstance(), func(origin *source.Segment, line []byte, columns *record.Columns) error {
		at, err := record.ParseTime(line[:record.TimeLen])
		if err != nil {
			return err
		}
		if footer && s.dims.timed() && s.minuteInRange(record.MinuteOf(at)) {
			return nil // its minute was counted
		}
		of.instance, of.time, of.Columns = origin.Meta.Instance, at, *columns
		local.add(dims.key(&of), 1)
		return nil
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
