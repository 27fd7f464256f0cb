package query

import (
	"context"
	"errors"
	"slices"
	"sync"

	"logstow/record"
	"logstow/segment"
)

// A chunk is a range of a blob with some neighbouring blocks, read in one request.
type chunk struct {
	off, end int64
	blocks   []segment.Block
	once     sync.Once
	data     []byte
	err      error
	scratch  *scratchBlocks // where the blocks are; nil is the segment's blob
}

// newChunk starts a chunk with a block; blob is the whole blob where it was read already.
func newChunk(b segment.Block, blob []byte) *chunk {
	c := &chunk{off: b.Offset, end: b.Offset + b.Stored, blocks: []segment.Block{b}}
	if blob != nil {
		c.once.Do(func() { c.data = blob[c.off:] })
	}
	return c
}

// extend adds the next block unless the chunk would become larger than limit or
// hold too much that is not wanted.
func (c *chunk) extend(b segment.Block, limit int64) bool {
	end := b.Offset + b.Stored
	if b.Offset-c.end > gapBytes || c.data == nil && end-c.off > min(limit, chunkBytes) {
		return false
	}
	c.end = end
	c.blocks = append(c.blocks, b)
	return true
}

// load takes the chunk's blocks from the cache, if it has all, else reads them.
func (c *chunk) load(ctx context.Context, q *Query, s *Segment) {
	if c.scratch != nil {
		c.data, c.err = c.scratch.read(c.off, c.end-c.off)
		return
	}
	if c.loadFromCache(q, s) {
		return
	}
	if c.data, c.err = q.readOnly(ctx, s, c.off, c.end-c.off); c.err != nil {
		return
	}
	for _, b := range c.blocks {
		s.putCache(b.Offset, c.data[b.Offset-c.off:][:b.Stored])
	}
}

func (c *chunk) loadFromCache(q *Query, s *Segment) bool {
	for i, b := range c.blocks {
		data, ok := q.fromCache(s, b.Offset, b.Stored)
		switch {
		case !ok:
			return false
		case len(c.blocks) == 1:
			c.data = data
			return true
		case i == 0:
			c.data = make([]byte, c.end-c.off)
		}
		copy(c.data[b.Offset-c.off:], data)
	}
	return true
}

// A task is one block to search.
type task struct {
	segment *Segment
	block   segment.Block
	chunk   *chunk
}

// weight is about the memory that a task takes while it is under way.
func (t *task) weight() int64 { return t.block.Raw + t.block.Stored }

// A worker holds what searching one block at a time needs.
type worker struct {
	text    []byte
	scanner scanner
	// matches and places gather what find finds.
	matches []byte
	spans   []matchSpan
}

// maxKept is the size of a buffer that is kept for the next block.
const maxKept = 4 << 20

// search fetches a task's block and calls use with its text, which is the
// worker's. What can not be read becomes a problem.
func (q *Query) search(ctx context.Context, t *task, use func(w *worker, text []byte) error) {
	defer q.addProcessed(t.segment, t.block.Stored)
	stored, err := t.stored(ctx, q)
	if ctx.Err() != nil {
		return
	}
	w := <-q.workers
	defer func() { q.workers <- w }()
	var text []byte
	if err == nil {
		text, err = q.decoder.DecodeBlock(w.text[:0], stored, t.block)
	}
	if err != nil && t.segment.cache != nil && ctx.Err() == nil { // what is kept may be damaged
		t.segment.cache.Remove(t.segment.cacheKey(0, t.segment.Size)) // a small one is kept as a whole
		if stored, err = q.readStored(ctx, t.segment, t.block.Offset, t.block.Stored); err == nil {
			text, err = q.decoder.DecodeBlock(w.text[:0], stored, t.block)
		}
	}
	if err != nil {
		text, err = q.fromCopies(ctx, t, w.text[:0], err)
	}
	if err == nil {
		if w.text = text; cap(text) > maxKept {
			w.text, w.scanner.lower = nil, nil
		}
		q.tally.blocksRead.Add(1)
		q.tally.scanned.Add(int64(len(text)))
		if !q.matcher.timeAndLevelOnly() {
			q.tally.findings.sample.add(text)
		}
		err = use(w, text)
		q.tally.findings.count(&w.scanner)
	}
	if err != nil && ctx.Err() == nil {
		q.readFailed(ctx, t.segment, err)
	}
}

// addProcessed counts bytes of a segment as done. A foreign one's are when they are read.
func (q *Query) addProcessed(s *Segment, n int64) {
	if !s.Foreign {
		q.tally.processed.Add(n)
	}
}

// stored is the task's block as it is in the blob.
func (t *task) stored(ctx context.Context, q *Query) ([]byte, error) {
	c := t.chunk
	c.once.Do(func() { c.load(ctx, q, t.segment) })
	if c.err != nil {
		return nil, c.err
	}
	return c.data[t.block.Offset-c.off:][:t.block.Stored], nil
}

// fromCopies decodes a task's block from another copy of the segment, which has
// it at the same place, after the first failed with cause.
func (q *Query) fromCopies(ctx context.Context, t *task, dst []byte, cause error) ([]byte, error) {
	for _, c := range t.segment.copies {
		stored, err := q.read(ctx, c, t.block.Offset, t.block.Stored)
		if err != nil {
			continue
		}
		if text, err := q.decoder.DecodeBlock(dst, stored, t.block); err == nil {
			q.tally.note("%s: %v; its copy %s is read instead", t.segment, cause, c)
			return text, nil
		}
	}
	return nil, cause
}

// blockMatches holds the matching records of one block, to be merged.
type blockMatches struct {
	segment *Segment
	block   int
	start   key // no record is before it
	text    []byte
	records []matchSpan
}

// matchSpan is a record in a found's text.
type matchSpan struct {
	time       int64
	start, end int
}

// find searches a task's block for merging.
func (q *Query) find(ctx context.Context, t *task) *blockMatches {
	f := &blockMatches{segment: t.segment, block: t.block.Index, start: q.startOf(t)}
	q.search(ctx, t, func(w *worker, text []byte) (err error) {
		w.matches, w.spans = w.matches[:0], w.spans[:0]
		scanErr := w.scanner.scan(text, q.matcher.checksFor(t), func(start, end int) {
			time, timeErr := record.ParseTime(text[start : start+record.TimeLen])
			if timeErr != nil {
				err = timeErr
				return
			}
			at := len(w.matches)
			w.matches = append(w.matches, text[start:end]...)
			w.spans = append(w.spans, matchSpan{time, at, len(w.matches)})
		})
		f.text, f.records = w.matches, slices.Clone(w.spans)
		if cap(w.matches) > maxKept {
			w.matches = nil
		} else {
			f.text = slices.Clone(f.text)
		}
		return errors.Join(scanErr, err)
	})
	return f
}
