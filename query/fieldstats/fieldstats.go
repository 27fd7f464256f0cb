// Package fieldstats finds out which fields the messages of a query's records have: their names,
// types, how many records have them, and their values.
//
// It reads a sample that is spread over the records, or all of them. Memory is bounded whatever the
// messages are: rare names are left out, and of a field with many values only the frequent ones are kept.
//
// It reads text: columns have some of the fields only, and not which others there are. They exclude blocks.
package fieldstats

import (
	"context"

	"logstow/query/fetch"
	"logstow/query/merge"
	"logstow/query/source"
	"logstow/record"
)

// Stats are the fields of some records.
type Stats struct {
	// Fields are in the order of Records, the greatest first, then of their names.
	Fields []Field
	// Records and Blocks were read; Records match.
	Records, Blocks uint64
	// Sampled is set if there are more records, of a plan of about AllBlocks blocks.
	Sampled   bool
	AllBlocks uint64
	// LeftOut is set if there are more names than are kept: those of the fewest records are missing, and
	// counts of others that are rare may be too low.
	LeftOut bool
}

// MaxTop is the greatest number of values of a field in [Stats].
const MaxTop = 1000

// Options are the settings of [Collect].
type Options struct {
	// Records is about the number of matching records after which to stop; 0 reads all.
	Records uint64
	// Top is the number of values of each field, at most MaxTop.
	Top int
}

// Collect finds out the fields of the records of segments that match. What was found when ctx ended is
// returned too.
func Collect(ctx context.Context, s *merge.Scheduler, segments []*source.Segment, opts Options) *Stats {
	tasks, all := s.Blocks(ctx, segments), blocksOf(segments)
	window := s.BlockWindow()
	window.Bytes = 4 << 20 // what is found in a block may take more memory than its text
	if opts.Records > 0 && !atMost(segments, opts.Records) {
		tasks = spread(ctx, s, segments)
		window.First, window.Max = 4, 16
	}
	found, out := newCollector(globalLimits()), &Stats{AllBlocks: all}
	block := func(ctx context.Context, t *fetch.Task) *collector {
		local := newCollector(blockLimits())
		local.use(s.Matcher.FieldsOf(t.Segment.Meta.Parse).Parser)
		s.Each(ctx, t, false, func(_ *source.Segment, _ []byte, columns *record.Columns) error {
			local.add(columns.Raw)
			return nil
		})
		return local
	}
	for local := range fetch.OrderedParallel(ctx, window, tasks, (*fetch.Task).Weight, block) {
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
