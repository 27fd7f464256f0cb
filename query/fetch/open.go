package fetch

import (
	"context"
	"errors"
	"iter"
	"slices"

	"logstow/internal/parallel"
	"logstow/query/source"

	"logstow/filter"
	"logstow/segment"
)

// Opened is a segment with the tasks for its blocks.
type Opened struct {
	Segment *source.Segment
	Footer  *segment.Footer // nil if it cannot be read, or is not needed
	Tasks   []*Task
	// Parts are the parts of a mixed segment, without those of excluded inputs; nil if Footer is nil.
	Parts []source.Segment
}

// OpenAll opens segments, several at a time, and yields them in their order.
func (f *Fetcher) OpenAll(ctx context.Context, segments []*source.Segment) iter.Seq[Opened] {
	w := parallel.Window{First: source.MaxInFlight, Max: source.MaxInFlight, Bytes: 1}
	return parallel.Ordered(ctx, w, slices.Values(segments), func(*source.Segment) int64 { return 0 },
		func(ctx context.Context, s *source.Segment) Opened { return f.Open(ctx, s, 0) })
}

// columnsShare is the usual ratio of a segment's size to the maximum size of the columns that a query reads.
const columnsShare = 20

// HeldBytes is the approximate number of stored bytes of an open segment that are kept in memory.
func (f *Fetcher) HeldBytes(s *source.Segment) int64 {
	n := min(s.Size, SmallBlob)
	if f.fromColumns || f.Matcher.ColumnConditions() {
		n = max(n, s.Size/columnsShare)
	}
	return n
}

// Open looks up a segment's token filter, reads its footer unless the filter excludes a match, and makes tasks for the
// blocks that may match according to filter, footer and columns. If the segment cannot be read, this is recorded as a
// problem and there are no tasks. share is the maximum number of stored bytes kept in memory.
func (f *Fetcher) Open(ctx context.Context, s *source.Segment, share int64) Opened {
	o := Opened{Segment: s}
	blocks := f.filterBlocks(ctx, s)
	if blocks.None() {
		f.Recorder.SegmentsFiltered.Add(1)
		f.Recorder.Processed(s, s.Size)
		return o
	}
	read, err := f.footer(ctx, s, share)
	if err != nil {
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, errStale):
			f.moved(ctx, s, err)
		default:
			f.readFailed(ctx, s, err)
		}
		f.Recorder.Processed(s, s.Size)
		return o
	}
	footer := read.footer
	o.Footer = footer
	mixed := newMixedReader(s, footer, read.origins)
	if mixed != nil {
		o.Parts = mixed.kept()
		f.findings.AddOrigins(o.Parts)
	}
	f.Recorder.SegmentsRead.Add(1)
	f.Recorder.BlocksTotal.Add(int64(len(footer.Blocks)))
	skipped := s.Size
	defer func() { f.Recorder.Processed(s, skipped) }()
	if len(f.Matcher.Selection.Sources) > 0 && !s.Foreign {
		f.findings.AddSources(footer.Sources)
	}
	if !f.Matcher.Selection.MayMatchSources(footer.Sources) || mixed != nil && !slices.ContainsFunc(o.Parts, f.mayMatchOrigin) {
		return o
	}
	if known := blocks.Known(); known > 0 && known != len(footer.Blocks) {
		f.Recorder.Note("%s: its token filter is of %d blocks, not %d; all are searched", s, known, len(footer.Blocks))
		blocks = filter.All()
	}
	var candidates []segment.Block
	for _, b := range footer.Blocks {
		if !f.Matcher.MayMatch(b.Start, b.End, b.Levels) || f.Matcher.Selection.Attributed && b.Attributes == 0 ||
			!mixed.mayHold(b, f.mayMatchOrigin) {
			continue
		}
		if !blocks.Has(b.Index) {
			f.Recorder.BlocksFiltered.Add(1)
			continue
		}
		candidates = append(candidates, b)
	}
	if mixed != nil && f.Matcher.Instanced() { // columns of instances are made from the parts
		mixed.add(candidates...)
	}
	var cols *segmentColumns
	if len(candidates) > 0 {
		cols = f.openColumns(ctx, s, footer, mixed, read.blob)
		candidates = f.prune(ctx, cols, candidates)
	}
	var c *chunk
	for _, b := range candidates {
		if c == nil || !c.extend(b, share) {
			if c = newChunk(b, read.blob); s.Foreign {
				c.scratch = f.scratch
			}
		}
		skipped -= b.Stored
		if mixed != nil {
			mixed.add(b)
		}
		o.Tasks = append(o.Tasks, &Task{Segment: s, Block: b, chunk: c, mixed: mixed, columns: cols})
	}
	return o
}

// mayMatchOrigin reports whether records written in a segment may match according to its instance.
func (f *Fetcher) mayMatchOrigin(s source.Segment) bool {
	return f.Matcher.MayMatchOrigin(s.Name.Service, s.Meta.Instance)
}
