package query

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"logstow/blobnaming"
	"logstow/filter"
	"logstow/segment"
	"logstow/store"
)

const (
	// smallBlob is the size up to which a segment of one block is read at once.
	smallBlob = 256 << 10
	// maxHeldBytes bounds the stored bytes that open segments hold, about.
	maxHeldBytes = 16 << 20
	// chunkBytes is the size of a request for blocks, at most (one block may be larger).
	chunkBytes = 1 << 20
	// gapBytes is the number of unwanted bytes between two blocks that are cheaper
	// to read than another request.
	gapBytes = 32 << 10
)

// errStale says that the index knows a segment which is gone.
var errStale = errors.New("the index is stale: the segment is gone")

// opened is a segment with the tasks that it makes.
type opened struct {
	segment *Segment
	footer  *segment.Footer // nil where it can not be read, or was not needed
	tasks   []*task
}

// open asks a segment's token filter, reads its footer unless the filter says that
// there is no match, and picks the blocks that may match. What can not be read is
// noted; then there are no tasks.
func (q *Query) open(ctx context.Context, s *Segment, share int64) opened {
	o := opened{segment: s}
	blocks := q.filterBlocks(ctx, s)
	if blocks.None() {
		q.tally.filtered.Add(1)
		q.addProcessed(s, s.Size)
		return o
	}
	footer, blob, err := q.footer(ctx, s, share)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, errStale) {
			q.readFailed(ctx, s, err)
		}
		q.addProcessed(s, s.Size)
		return o
	}
	o.footer = footer
	q.tally.opened.Add(1)
	q.tally.blocks.Add(int64(len(footer.Blocks)))
	skipped := s.Size
	defer func() { q.addProcessed(s, skipped) }()
	if len(q.matcher.sources) > 0 && !s.Foreign {
		q.tally.findings.open(footer.Sources)
	}
	if !q.matcher.mayMatchSources(footer.Sources) {
		return o
	}
	if known := blocks.Known(); known > 0 && known != len(footer.Blocks) {
		q.tally.note("%s: its token filter is of %d blocks, not %d; all are searched", s, known, len(footer.Blocks))
		blocks = filter.All()
	}
	var c *chunk
	for _, b := range footer.Blocks {
		if !q.matcher.mayMatch(b.Start, b.End, b.Levels) {
			continue
		}
		if !blocks.Has(b.Index) {
			q.tally.blocksFiltered.Add(1)
			continue
		}
		if c == nil || !c.extend(b, share) {
			if c = newChunk(b, blob); s.Foreign {
				c.scratch = q.scratch
			}
		}
		skipped -= b.Stored
		o.tasks = append(o.tasks, &task{segment: s, block: b, chunk: c})
	}
	return o
}

// footer reads a segment's footer from the first of its copies that is whole,
// and checks it against the metadata. blob is the whole blob where it was read
// at once; share is the number of stored bytes that the segment may hold.
func (q *Query) footer(ctx context.Context, s *Segment, share int64) (f *segment.Footer, blob []byte, err error) {
	if s.Foreign {
		f, err = q.convertForeign(ctx, s)
		return f, nil, err
	}
	var failures []error
	for _, c := range append([]*Segment{s}, s.copies...) {
		f, blob, err = q.footerOf(ctx, c, share)
		if err == nil {
			if len(failures) > 0 {
				q.tally.note("%v; its copy %s is read instead", failures[0], c)
			}
			return f, blob, nil
		}
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if q.opts.Plan == PlanIndex && q.isStale(ctx, c) {
			q.tally.note("%s: %v", c, errStale)
			err = errStale
		} else if c != s {
			err = fmt.Errorf("copy %s: %w", c, err)
		}
		failures = append(failures, err)
	}
	failures = slices.DeleteFunc(failures, func(err error) bool { return errors.Is(err, errStale) })
	if len(failures) == 0 {
		return nil, nil, errStale
	}
	return nil, nil, errors.Join(failures...)
}

// isStale asks the listing, which is the authority, whether a segment from the
// index is not there any more, or another one is under its name.
func (q *Query) isStale(ctx context.Context, s *Segment) bool {
	blobs, err := collect(ctx, func() iter.Seq2[[]store.Blob, error] { return s.blobs.List(ctx, s.String()) })
	if err != nil {
		return false
	}
	for _, b := range blobs {
		if meta, err := blobnaming.ParseMetadata(b.Metadata); b.Name == s.String() && (err != nil || meta.Batch == s.Meta.Batch) {
			return false
		}
	}
	return true
}

func (q *Query) footerOf(ctx context.Context, s *Segment, share int64) (*segment.Footer, []byte, error) {
	f, blob, err := q.readFooter(ctx, s, share, q.read)
	if err != nil && s.cache != nil && ctx.Err() == nil { // what is kept may be damaged
		f, blob, err = q.readFooter(ctx, s, share, q.readStored)
	}
	return f, blob, err
}

// rangeReader reads a range of a segment's blob.
type rangeReader func(ctx context.Context, s *Segment, off, n int64) ([]byte, error)

func (q *Query) readFooter(ctx context.Context, s *Segment, share int64, from rangeReader) (*segment.Footer, []byte, error) {
	var blob []byte
	oneBlock := s.Meta.RawBytes <= segment.DefaultBlockSize*5/4
	if s.Size > 0 && s.Size <= smallBlob && (oneBlock || s.Size <= share) && share > 0 {
		var err error
		if blob, err = from(ctx, s, 0, s.Size); err != nil {
			return nil, nil, err
		}
	}
	read := func(ctx context.Context, off, n int64) ([]byte, error) {
		if blob != nil {
			if off < 0 || n < 0 || off > s.Size-n {
				return nil, store.ErrRange
			}
			return blob[off : off+n], nil
		}
		return from(ctx, s, off, n)
	}
	f, err := segment.ReadFooter(ctx, read, s.Size, s.Meta.Footer)
	if err != nil {
		return nil, nil, err
	}
	if err := f.Check(s.Meta); err != nil {
		return nil, nil, err
	}
	return f, blob, nil
}

// read reads a range of a segment's blob, or takes it from the cache.
func (q *Query) read(ctx context.Context, s *Segment, off, n int64) ([]byte, error) {
	if data, ok := q.fromCache(s, off, n); ok {
		return data, nil
	}
	return q.readStored(ctx, s, off, n)
}

// fromCache is a range of a segment's blob from the cache.
func (q *Query) fromCache(s *Segment, off, n int64) ([]byte, bool) {
	if s.cache == nil {
		return nil, false
	}
	data, ok := s.cache.Get(s.cacheKey(off, n))
	if ok = ok && int64(len(data)) == n; ok {
		q.tally.cached.Add(n)
	}
	return data, ok
}

// cacheKey says what a range of a segment holds: a name may be used again by another batch.
func (s *Segment) cacheKey(off, n int64) string {
	return fmt.Sprintf("%s %s %s %d %d %d", s.Store, s, s.Meta.Batch, s.Size, off, n)
}

// putCache puts a range of a segment's blob into the cache.
func (s *Segment) putCache(off int64, data []byte) {
	if s.cache != nil {
		s.cache.Put(s.cacheKey(off, int64(len(data))), data)
	}
}

// readStored reads a range of a segment's blob, and keeps it.
func (q *Query) readStored(ctx context.Context, s *Segment, off, n int64) ([]byte, error) {
	data, err := q.readOnly(ctx, s, off, n)
	if err == nil {
		s.putCache(off, data)
	}
	return data, err
}

// readOnly reads a range of a segment's blob.
func (q *Query) readOnly(ctx context.Context, s *Segment, off, n int64) (data []byte, err error) {
	err = withRetry(ctx, func() (err error) {
		data, err = s.blobs.Read(ctx, s.String(), off, n)
		return err
	})
	q.tally.storedRead.Add(int64(len(data)))
	return data, err
}
