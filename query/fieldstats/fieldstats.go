// Package fieldstats collects the fields of a query's records, of their attributes and their messages: names, types, numbers of
// records and values.
//
// It reads all records, or a sample that is spread over them. Memory is bounded for any messages: rare names are dropped, and of a field
// with many values only the frequent ones are kept.
//
// It reads text, because columns do not have all fields. Columns are only used to exclude blocks.
package fieldstats

import (
	"context"

	"logstow/internal/parallel"
	"logstow/query/fetch"
	"logstow/query/merge"
	"logstow/query/source"
	"logstow/record"
)

// Stats are the fields of some records.
type Stats struct {
	// Fields are in the order of Records, the greatest first, then of their names.
	Fields []Field
	// Records is the number of matches read, Blocks that of blocks read.
	Records, Blocks uint64
	// Sampled is set if not all matches were read; AllBlocks is the approximate number of blocks of the plan.
	Sampled   bool
	AllBlocks uint64
	// LeftOut is set if names were dropped: those with the fewest records are missing, and counts of other rare names may be
	// too low.
	LeftOut bool
}

// MaxTop is the maximum number of values of a field in [Stats].
const MaxTop = 1000

// Options are the settings of [Collect].
type Options struct {
	// Records is the approximate number of matches after which to stop; 0 reads all.
	Records uint64
	// Top is the number of values of each field, at most MaxTop.
	Top int
}

// Collect collects the fields of the matches of segments. If ctx ends, it returns what it has collected so far.
func Collect(ctx context.Context, s *merge.Scheduler, segments []*source.Segment, opts Options) *Stats {
	tasks, all := s.Blocks(ctx, segments), blocksOf(segments)
	window := s.BlockWindow()
	window.Bytes = 4 << 20 // the collector of a block may take more memory than its text
	if opts.Records > 0 && !atMost(segments, opts.Records) {
		tasks = spread(ctx, s, segments)
		window.First, window.Max = 4, 16
	}
	found, out := newCollector(globalLimits()), &Stats{AllBlocks: all}
	block := func(ctx context.Context, t *fetch.Task) *collector {
		local := newCollector(blockLimits())
		local.use(s.Matcher.FieldsOf(t.Segment.Meta.Parse).Parser)
		s.Each(ctx, t, false, func(_ *source.Segment, _ []byte, columns *record.Columns) error {
			local.add(columns.Attributes, columns.Raw)
			return nil
		})
		return local
	}
	for local := range parallel.Ordered(ctx, window, tasks, (*fetch.Task).Weight, block) {
		if ctx.Err() != nil {
			break
		}
		if out.Sampled = opts.Records > 0 && found.records >= opts.Records; out.Sampled {
			break
		}
		found.merge(local)
		out.Blocks++
	}
	out.Fields, out.Records, out.LeftOut = found.result(opts.Top), found.records, found.leftOut
	out.AllBlocks = max(out.AllBlocks, out.Blocks)
	return out
}

// atMost reports whether segments have at most n records, by their metadata.
func atMost(segments []*source.Segment, n uint64) bool {
	for _, seg := range segments {
		if seg.Foreign || seg.Meta.Records > n {
			return false
		}
		n -= seg.Meta.Records
	}
	return true
}
