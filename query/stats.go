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

// countMatches is the number of records of segments that match. What metadata and footers answer is not read.
func countMatches(ctx context.Context, s scheduler, segments []*Segment) (n uint64) {
	unread := make([]*Segment, 0, len(segments))
	for _, seg := range segments {
		if s.metadataSuffices(seg) {
			n += s.matcher.levels.Count(seg.Meta.Levels)
			s.rec.ProcessedBytes(seg.Size)
		} else {
			unread = append(unread, seg)
		}
	}
	for count := range orderedParallel(ctx, s.blockWindow(), s.blocks(ctx, unread), (*task).weight, s.count) {
		n += count
	}
	return n
}

// countGroups counts the records of segments that match; see [Query.Stats]. memory is about
// the number of bytes that the groups may take.
func countGroups(ctx context.Context, s scheduler, segments []*Segment, by []string, zone *time.Location, memory int64) (*Stats, error) {
	dims, err := newDimensions(by, zone)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSelection, err)
	}
	c := &counting{scheduler: s, dims: dims, memory: memory, groups: newGroups(memory)}
	tasks := s.blocks(ctx, segments)
	if c.footersSuffice = dims.inFooters() && s.matcher.timeAndLevelOnly(); c.footersSuffice {
		tasks = c.footers(ctx, segments)
	}
	for local := range orderedParallel(ctx, s.blockWindow(), tasks, (*task).weight, c.block) {
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

// counting is countGroups at work.
type counting struct {
	scheduler
	memory int64
	dims   dimensions
	// footersSuffice says that footers know what is asked for.
	footersSuffice bool
	groups         *groups
}

// add counts what is known of a segment without reading blocks.
func (s *counting) add(seg *Segment, at int64, levels record.Counts) {
	for l, n := range levels {
		if n == 0 || !s.matcher.levels.Has(record.Level(l)) {
			continue
		}
		s.groups.add(s.dims.key(&groupRecord{segment: seg, time: at, Columns: record.Columns{Level: record.Level(l)}}), n)
	}
}

// footers counts what metadata and footers answer, and yields the blocks that
// have to be read for the rest.
func (s *counting) footers(ctx context.Context, segments []*Segment) iter.Seq[*task] {
	return func(yield func(*task) bool) {
		var unknown []*Segment
		for _, seg := range segments {
			if s.dims.samePeriods(seg.Meta.Start, seg.Meta.End) && s.metadataSuffices(seg) {
				s.add(seg, seg.Meta.Start, seg.Meta.Levels)
				s.rec.ProcessedBytes(seg.Size)
			} else {
				unknown = append(unknown, seg)
			}
		}
		w := window{first: parallel, max: parallel, bytes: 1}
		for o := range orderedParallel(ctx, w, slices.Values(unknown), func(*Segment) int64 { return 0 },
			func(ctx context.Context, seg *Segment) opened { return s.open(ctx, seg, 0) }) {
			if o.footer != nil && s.dims.timed() {
				for _, m := range o.footer.Minutes {
					if s.minuteInRange(m.Start) {
						s.add(o.segment, m.Start*int64(time.Second), m.Levels)
					}
				}
			}
			for _, t := range o.tasks {
				if s.answeredByFooter(t) {
					s.rec.Processed(t.segment, t.block.Stored)
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
	m := s.matcher
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
		m := s.matcher
		first, last := max(t.block.Start, m.from), min(t.block.End, m.to-1)
		return s.minuteInRange(minuteOf(first)) && s.minuteInRange(minuteOf(last))
	}
	if !s.matcher.levelsSuffice(t.block.Start, t.block.End) {
		return false
	}
	s.add(t.segment, 0, t.block.Levels)
	return true
}

// block counts the records of a block.
func (s *counting) block(ctx context.Context, t *task) *groups {
	local := newGroups(s.memory)
	dims := s.dims.clone()
	of := groupRecord{segment: t.segment}
	s.each(ctx, t, func(line []byte, columns *record.Columns) error {
		at, err := record.ParseTime(line[:record.TimeLen])
		if err != nil {
			return err
		}
		if s.footersSuffice && s.dims.timed() && s.minuteInRange(minuteOf(at)) {
			return nil // its minute was counted
		}
		of.time, of.Columns = at, *columns
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
