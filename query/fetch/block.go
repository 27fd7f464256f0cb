package fetch

import (
	"context"
	"sync"

	"logstow/query/source"

	"logstow/segment"
)

const (
	// chunkBytes is the maximum size of a request for several blocks.
	chunkBytes = 1 << 20
	// gapBytes is the maximum number of unwanted bytes between two blocks that are read in one request.
	gapBytes = 32 << 10
)

// A chunk is a range of a blob with neighbouring blocks, read in one request.
type chunk struct {
	off, end int64
	blocks   []segment.Block
	once     sync.Once
	data     []byte
	err      error
	scratch  *scratchBlocks // has the blocks of a foreign segment; otherwise nil
}

// newChunk starts a chunk with a block; blob is the whole blob if it has been read, otherwise nil.
func newChunk(b segment.Block, blob []byte) *chunk {
	c := &chunk{off: b.Offset, end: b.Offset + b.Stored, blocks: []segment.Block{b}}
	if blob != nil {
		c.once.Do(func() { c.data = blob[c.off:] })
	}
	return c
}

// extend adds the next block, unless the chunk would then exceed limit bytes or contain too many unwanted bytes.
func (c *chunk) extend(b segment.Block, limit int64) bool {
	end := b.Offset + b.Stored
	if b.Offset-c.end > gapBytes || c.data == nil && end-c.off > min(limit, chunkBytes) {
		return false
	}
	c.end = end
	c.blocks = append(c.blocks, b)
	return true
}

// Task is one block to search.
type Task struct {
	Segment *source.Segment
	Block   segment.Block
	chunk   *chunk
	mixed   *mixedReader    // nil unless the segment is mixed
	columns *segmentColumns // nil if the segment has no columns, or they are not needed
}

// Weight is the approximate memory in bytes that a task takes while in flight.
func (t *Task) Weight() int64 { return t.Block.Raw + t.Block.Stored }

// Alone returns a copy of the task that shares no memory with other tasks, so that it may wait at little cost. Its block is
// read in a request of its own, and it has no columns.
func (t *Task) Alone() *Task {
	return &Task{Segment: t.Segment, Block: t.Block, chunk: newChunk(t.Block, nil), mixed: t.mixed}
}

// Prefetch reads a task's block from storage before it is searched.
func (f *Fetcher) Prefetch(ctx context.Context, t *Task) {
	_, _ = f.stored(ctx, t) // the search returns the error
}

// stored returns the stored bytes of a task's block.
func (f *Fetcher) stored(ctx context.Context, t *Task) ([]byte, error) {
	c := t.chunk
	c.once.Do(func() { c.data, c.err = f.load(ctx, t.Segment, c) })
	if c.err != nil {
		return nil, c.err
	}
	return c.data[t.Block.Offset-c.off:][:t.Block.Stored], nil
}

// load returns a chunk's bytes from the cache, if it has all blocks, otherwise from the blob.
func (f *Fetcher) load(ctx context.Context, s *source.Segment, c *chunk) ([]byte, error) {
	if c.scratch != nil {
		return c.scratch.read(c.off, c.end-c.off)
	}
	if data, ok := f.loadFromCache(s, c); ok {
		return data, nil
	}
	data, err := f.readOnly(ctx, s, c.off, c.end-c.off)
	if err != nil {
		return nil, err
	}
	for _, b := range c.blocks {
		s.PutCache(b.Offset, data[b.Offset-c.off:][:b.Stored])
	}
	return data, nil
}

func (f *Fetcher) loadFromCache(s *source.Segment, c *chunk) (chunk []byte, ok bool) {
	for i, b := range c.blocks {
		data, ok := f.fromCache(s, b.Offset, b.Stored)
		switch {
		case !ok:
			return nil, false
		case len(c.blocks) == 1:
			return data, true
		case i == 0:
			chunk = make([]byte, c.end-c.off)
		}
		copy(chunk[b.Offset-c.off:], data)
	}
	return chunk, true
}
