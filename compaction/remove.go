package compaction

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"logstow/catalog"
	"logstow/internal/crashpoint"
	"logstow/internal/retry"
	"logstow/internal/units"
	"logstow/segment"
	"logstow/store"
	"logstow/tableindex"
)

// removal is an input to remove, with its entity.
type removal struct {
	ref   store.BlobRef
	size  int64
	table string
	key   store.Key
}

// ages are the times before which a segment and its output must have been stored for the segment to be removed.
type ages struct {
	inputs, outputs time.Time
}

// removable returns the plain segments that outputs contain, by the index of their output in c.Outputs. young is the number of contained
// segments that are too young, or whose output is.
func removable(c *Chain, before ages) (byOutput map[int][]catalog.Segment, young int) {
	byOutput = make(map[int][]catalog.Segment)
	for i, p := range c.places() {
		switch s := c.Plain[i]; {
		case !p.Contained():
		case s.Created.After(before.inputs), c.Outputs[p.Output].Created.After(before.outputs):
			young++
		default:
			byOutput[p.Output] = append(byOutput[p.Output], s)
		}
	}
	return byOutput, young
}

// removeBefore returns the ages by grace, 0 of which allows for outputs of this run, and by what is replicated: an input is removed only
// when its output is in the second location of the account too.
func (r *run) removeBefore() ages {
	before := r.now.Add(-r.o.Grace)
	if r.o.Grace == 0 {
		before = r.now.Add(day)
	}
	a := ages{before, before}
	if r.replicated && r.synced.Before(before) {
		a.outputs = r.synced
	}
	return a
}

// remove queues the inputs of a chain's outputs for removal, after reading each output back from storage and adding it to the
// index.
func (r *run) remove(ctx context.Context, c *Chain) error {
	for i, p := range c.places() {
		if p.Differs {
			r.report.Different = append(r.report.Different, c.Plain[i].Name.String())
			r.o.Log.Warn("segment has the batch of an input but differs", "segment", c.Plain[i].Name.String())
		}
	}
	byOutput, young := removable(c, r.removeBefore())
	r.report.Young += int64(young)
	if r.o.KeepInputs || len(byOutput) == 0 {
		return nil
	}
	if r.o.DryRun {
		for _, inputs := range byOutput {
			r.report.Removed += int64(len(inputs))
			r.report.BytesRemoved += sizeOf(inputs)
		}
		return nil
	}
	entities := make([]tableindex.Entity, 0, len(byOutput))
	for i := range byOutput {
		o := c.Outputs[i]
		entity, err := r.readBack(ctx, o)
		switch {
		case segment.IsDamage(err), errors.Is(err, store.ErrRange):
			r.halt(c.Scope, fmt.Errorf("%s: %w: %w", o.Name, ErrDamaged, err))
			return nil
		case errors.Is(err, store.ErrNotFound):
			return nil // retention is deleting the day
		case err != nil:
			return fmt.Errorf("cannot read %s back: %w", o.Name, err)
		}
		entities = append(entities, entity)
	}
	crashpoint.Here("compact.read-back")
	err := retry.Do(ctx, func() error { return tableindex.Put(ctx, r.store.Tables(), r.store.Container(), entities) })
	if err != nil && !errors.Is(err, tableindex.ErrInvalidEntity) { // times before 1970 cannot be indexed
		return fmt.Errorf("cannot index outputs of %s: %w", c.Scope, err)
	}
	crashpoint.Here("compact.indexed")
	for _, inputs := range byOutput {
		for _, s := range inputs {
			entity := tableindex.Entity{Name: s.Name, Meta: s.Meta}
			r.queue = append(r.queue, removal{s.Ref(), s.Size, entity.Table(r.store.Container()), entity.Key()})
		}
	}
	if len(r.queue) >= store.MaxDelete {
		return r.deleteQueued(ctx, len(r.queue)/store.MaxDelete*store.MaxDelete)
	}
	return nil
}

// readBack reads and verifies a whole stored output. It returns its entity. Of an output that this run verified when it built it, the
// hashes suffice: they are those of all bytes that were decoded then.
func (r *run) readBack(ctx context.Context, o catalog.Output) (tableindex.Entity, error) {
	verify := segment.Verify
	if r.verified[o.Meta.Batch] {
		verify = segment.VerifyStored
	}
	f, err := verifyStored(ctx, retry.Range(r.store.Compacted(), o.Ref()), o.Segment, verify)
	if err != nil {
		return tableindex.Entity{}, err
	}
	return tableindex.Entity{Name: o.Name, Meta: o.Meta, ETag: o.ETag, Size: o.Size, Minutes: f.Minutes}, nil
}

// verifyFunc is [segment.Verify] or [segment.VerifyStored].
type verifyFunc func(ctx context.Context, read segment.Range, size int64) (*segment.Footer, error)

// verifyStored reads and verifies a whole stored segment, and compares it with its name and metadata.
func verifyStored(ctx context.Context, read segment.Range, s catalog.Segment, verify verifyFunc) (f *segment.Footer, err error) {
	err = segment.ReadTwice(ctx, func() (err error) {
		if f, err = verify(ctx, chunked(read, s.Size), s.Size); err == nil {
			err = f.Check(s.Meta)
		}
		return err
	})
	if err == nil {
		err = s.CheckName(f)
	}
	return f, err
}

// flush removes everything in the queue.
func (r *run) flush(ctx context.Context) error { return r.deleteQueued(ctx, len(r.queue)) }

// deleteQueued removes the first n inputs of the queue: their entities, then the blobs if they have not changed since the
// listing, in full batches. Their outputs are in the index already. After a crash in between the blobs are still listed, so the
// next run removes them.
func (r *run) deleteQueued(ctx context.Context, n int) error {
	batch := r.queue[:n]
	r.queue = slices.Clone(r.queue[n:])
	byTable := make(map[string][]store.Key)
	for _, d := range batch {
		byTable[d.table] = append(byTable[d.table], d.key)
	}
	for table, keys := range byTable {
		err := retry.Do(ctx, func() error { return tableindex.Remove(ctx, r.store.Tables(), table, keys) })
		if err != nil {
			return fmt.Errorf("cannot remove entities of %s: %w", units.Count(len(keys), "input"), err)
		}
	}
	crashpoint.Here("compact.before-delete")
	for len(batch) > 0 {
		n := min(len(batch), store.MaxDelete)
		if err := r.deleteBatch(ctx, batch[:n]); err != nil {
			return err
		}
		crashpoint.Here("compact.deleted")
		batch = batch[n:]
	}
	return nil
}

// deleteBatch deletes up to store.MaxDelete blobs with one request. Blobs that a policy holds remain; readers ignore them.
func (r *run) deleteBatch(ctx context.Context, batch []removal) error {
	if err := r.limit.WaitN(ctx, len(batch)); err != nil {
		return err
	}
	refs := make([]store.BlobRef, len(batch))
	var size int64
	for i, d := range batch {
		refs[i] = d.ref
		size += d.size
	}
	err := retry.Do(ctx, func() error { return r.store.Blobs().Delete(ctx, refs) })
	held := store.Failed(err, store.ErrHeld)
	switch {
	case held > 0 && !errors.Is(err, store.ErrAccessDenied) && !store.Retryable(err):
		r.report.Held += int64(held)
		r.o.Log.Warn("inputs held by a policy stay", "inputs", held, "error", err)
		size = size / int64(len(batch)) * int64(len(batch)-held) // it is unknown which
	case err != nil:
		return fmt.Errorf("cannot delete inputs: %w", err)
	}
	removed := int64(len(batch) - held)
	r.report.Removed += removed
	r.report.BytesRemoved += size
	r.o.Progress.Removed.Add(removed)
	return nil
}

func sizeOf(segments []catalog.Segment) (n int64) {
	for _, s := range segments {
		n += s.Size
	}
	return n
}

const (
	// chunkSize is the size of a request of a read-back in bytes. keptChunks is the number of chunks kept in memory,
	// because blocks and pages are read alternately.
	chunkSize  = 4 << 20
	keptChunks = 3
)

// chunked returns a function that reads ranges of a blob of size bytes in chunks. It keeps the latest chunks. Not safe for
// concurrent use.
func chunked(read segment.Range, size int64) segment.Range {
	type chunk struct {
		index int64
		data  []byte
	}
	var kept []chunk
	get := func(ctx context.Context, index int64) ([]byte, error) {
		if i := slices.IndexFunc(kept, func(c chunk) bool { return c.index == index }); i >= 0 {
			c := kept[i]
			kept = append(slices.Delete(kept, i, i+1), c)
			return c.data, nil
		}
		if len(kept) == keptChunks {
			kept = slices.Delete(kept, 0, 1)
		}
		data, err := read(ctx, index*chunkSize, min(chunkSize, size-index*chunkSize))
		if err == nil {
			kept = append(kept, chunk{index, data})
		}
		return data, err
	}
	return func(ctx context.Context, off, n int64) ([]byte, error) {
		if off < 0 || n <= 0 || off > size || n > size-off {
			return nil, store.ErrRange
		}
		data := make([]byte, 0, n)
		for end := off + n; off < end; {
			c, err := get(ctx, off/chunkSize)
			if err != nil {
				return nil, err
			}
			part := c[off%chunkSize:]
			part = part[:min(int64(len(part)), end-off)]
			data = append(data, part...)
			off += int64(len(part))
		}
		return data, nil
	}
}
