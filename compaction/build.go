package compaction

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"logstow/blobnaming"
	"logstow/columns"
	"logstow/internal/crashpoint"
	"logstow/internal/tempfile"
	"logstow/segment"
	"logstow/store"
)

// writeBuffer is the buffer of an output that is written.
const writeBuffer = 256 << 10

// built is a finished output in a temporary file.
type built struct {
	name blobnaming.Name
	meta blobnaming.Metadata
	file *os.File
	size int64
}

func (b *built) close() error { return tempfile.Remove(b.file) }

// read reads from the file.
func (b *built) read(_ context.Context, off, n int64) ([]byte, error) {
	data := make([]byte, n)
	if _, err := b.file.ReadAt(data, off); err != nil {
		return nil, fmt.Errorf("cannot read temporary file: %w", err)
	}
	return data, nil
}

// builder makes outputs.
type builder struct {
	blobs      store.BlobReader
	columns    *columns.Options
	compressor *segment.Compressor
	tempDir    string
	budget     int64
	blockSize  int // of segment.Options
}

// build merges the inputs of a generation into a file, decodes the file and checks that it has the records of each input, in
// output order. A damaged input is an [*inputError], a missing one [store.ErrNotFound].
func (b *builder) build(ctx context.Context, g Generation) (out *built, err error) {
	file, err := tempfile.Create(b.tempDir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			out, err = nil, errors.Join(err, tempfile.Remove(file))
		}
	}()
	m, err := newMerge(ctx, b.blobs, g.Inputs, b.tempDir, b.budget)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	buffered := bufio.NewWriterSize(file, writeBuffer)
	w := segment.NewWriter(buffered, segment.Options{
		Service: g.Name.Service, Instance: blobnaming.OutputInstance, Class: g.Inputs[0].Meta.Class, Parse: g.Inputs[0].Meta.Parse,
		BucketStart: g.Name.Bucket.Unix(), BucketWidth: int64(day / time.Second),
		Inputs: m.origins, Parts: m.parts, Columns: b.columns, BlockSize: b.blockSize, Compressor: b.compressor,
	})
	defer w.Discard()
	if err := m.each(ctx, w); err != nil {
		return nil, err
	}
	crashpoint.Here("compact.merged")
	seq := int64(0)
	for _, o := range m.origins {
		seq = max(seq, o.Seq)
	}
	meta, err := w.Close(seq)
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write output %s: %w", g.Name, err)
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("cannot write output %s: %w", g.Name, err)
	}
	out = &built{name: g.Name, meta: meta, file: file, size: size}
	if err := verifyOutput(ctx, out.read, size, meta, m.origins); err != nil {
		return nil, fmt.Errorf("cannot use output %s: %w", g.Name, err)
	}
	return out, nil
}

// verifyOutput decodes an output. It compares its parts with each other and with its metadata, and the records of each input
// with the input's counts and sum. Unless origins is nil, the output must have these inputs.
func verifyOutput(ctx context.Context, read segment.Range, size int64, meta blobnaming.Metadata, origins []segment.Origin) error {
	f, err := segment.Verify(ctx, read, size)
	if err == nil {
		err = f.Check(meta)
	}
	if err != nil || origins == nil {
		return err
	}
	_, list, err := segment.ReadOrigins(ctx, read, size, meta.Origins)
	if err != nil {
		return err
	}
	for i, o := range list.Inputs {
		if i >= len(origins) || o != origins[i] {
			return fmt.Errorf("input %d of its list is not the one that was read", i)
		}
	}
	if len(list.Inputs) != len(origins) {
		return fmt.Errorf("its list has %d inputs of %d", len(list.Inputs), len(origins))
	}
	return nil
}
