package query

import (
	"context"
	"errors"

	"logstow/filter"
	"logstow/segment"
)

const (
	// chunkBytes is the size of a request for blocks, at most (one block may be larger).
	chunkBytes = 1 << 20
	// gapBytes is the number of unwanted bytes between two blocks that are cheaper
	// to read than another request.
	gapBytes = 32 << 10
)

// opened is a segment with the tasks that it makes.
type opened struct {
	segment *Segment
	footer  *segment.Footer // nil where it can not be read, or was not needed
	tasks   []*task
}

// open asks a segment's token filter, reads its footer unless the filter says that
// there is no match, and picks the blocks that may match. What can not be read is
// noted; then there are no tasks.
func (f *fetcher) open(ctx context.Context, s *Segment, share int64) opened {
	o := opened{segment: s}
	blocks := f.filterBlocks(ctx, s)
	if blocks.None() {
		f.rec.SegmentsFiltered.Add(1)
		f.rec.Processed(s, s.Size)
		return o
	}
	footer, blob, err := f.footer(ctx, s, share)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, errStale) {
			f.readFailed(ctx, s, err)
		}
		f.rec.Processed(s, s.Size)
		return o
	}
	o.footer = footer
	f.rec.SegmentsRead.Add(1)
	f.rec.BlocksTotal.Add(int64(len(footer.Blocks)))
	skipped := s.Size
	defer func() { f.rec.Processed(s, skipped) }()
	if len(f.matcher.sel.Sources) > 0 && !s.Foreign {
		f.findings.addSources(footer.Sources)
	}
	if !f.matcher.sel.mayMatchSources(footer.Sources) {
		return o
	}
	if known := blocks.Known(); known > 0 && known != len(footer.Blocks) {
		f.rec.Note("%s: its token filter is of %d blocks, not %d; all are searched", s, known, len(footer.Blocks))
		blocks = filter.All()
	}
	var c *chunk
	for _, b := range footer.Blocks {
		if !f.matcher.mayMatch(b.Start, b.End, b.Levels) {
			continue
		}
		if !blocks.Has(b.Index) {
			f.rec.BlocksFiltered.Add(1)
			continue
		}
		if c == nil || !c.extend(b, share) {
			if c = newChunk(b, blob); s.Foreign {
				c.scratch = f.scratch
			}
		}
		skipped -= b.Stored
		o.tasks = append(o.tasks, &task{segment: s, block: b, chunk: c})
	}
	return o
}
