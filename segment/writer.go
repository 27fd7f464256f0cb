package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"logstow/blobnaming"
	"logstow/columns"
	"logstow/filter"
	"logstow/record"
	"logstow/record/attributes"
)

// Writer encodes records into a segment. Not safe for concurrent use.
//
// A Writer compresses at most one block in the background. It holds that block and the one being filled, the footer, and
// four bytes per token of the filter. It writes to its destination only inside Append and Close. End a Writer with Close
// or Discard.
type Writer struct {
	w    io.Writer
	opts Options
	err  error // sticky

	enc   record.Encoder
	cur   block
	tally tally
	// compressing receives the block being compressed, whose text has compressingRaw bytes; nil if there is none.
	compressing    chan encoded
	compressingRaw int
	// spareRefs are the refs of an earlier block, for reuse.
	spareRefs []recordRef

	// blocks are the blocks written, offset and raw their stored and decompressed size in bytes, tokens their tokens.
	blocks      []Block
	tokens      filter.Builder
	offset, raw int64
	// columns is nil without columns; columnsSize is their approximate size in bytes.
	columns     *columns.Builder
	columnsSize int64
	output      *output // nil for a plain segment
	// owners are the instances of the blocks written.
	owners []string
}

// NewWriter starts a segment in w. Invalid options are reported by the first Append or by Close.
func NewWriter(w io.Writer, opts Options) *Writer {
	if opts.BlockSize <= 0 {
		opts.BlockSize = DefaultBlockSize
	}
	if opts.Compressor == nil {
		opts.Compressor = NewCompressor()
	}
	if err := opts.validate(); err != nil {
		return &Writer{err: fmt.Errorf("start segment: %w", err)}
	}
	writer := &Writer{w: w, opts: opts, tally: newTally(opts.BucketStart, opts.BucketWidth)}
	if opts.Columns != nil {
		writer.columns = columns.NewBuilder(opts.Parse, *opts.Columns)
	}
	if len(opts.Inputs) > 0 {
		if opts.Parts == nil {
			opts.Parts = PartsOf(opts.Inputs, nil)
		}
		writer.output = newOutput(opts.Parts)
	}
	return writer
}

func (o *Options) validate() error {
	switch {
	case !blobnaming.ValidService(o.Service):
		return fmt.Errorf("service %q is not a valid name", o.Service)
	case !blobnaming.ValidInstance(o.Instance):
		return fmt.Errorf("instance %q is not a valid name", o.Instance)
	case !blobnaming.ValidClass(o.Class):
		return fmt.Errorf("class %q is not a valid name", o.Class)
	case !blobnaming.ValidParse(o.Parse):
		return fmt.Errorf("parser %q is not one line of at most %d bytes", o.Parse, blobnaming.MaxParse)
	case len(o.Inputs) > MaxOrigins:
		return fmt.Errorf("%d inputs, at most %d allowed", len(o.Inputs), MaxOrigins)
	case len(o.Inputs) > 0 && o.Salt != [16]byte{}:
		return errors.New("an output has no salt")
	case o.BlockSize > MaxBlockRaw:
		return fmt.Errorf("blocks of %d bytes, at most %d allowed", o.BlockSize, MaxBlockRaw)
	}
	return validBucket(o.BucketStart, o.BucketWidth)
}

// Append adds a copy of a record. An invalid record is rejected with [ErrRecord], one that needs more than [MaxBlocks]
// with [ErrFull]; both leave the Writer unchanged. Any other error is sticky: every later call returns it.
func (w *Writer) Append(r record.Record) error {
	if w.err != nil {
		return w.err
	}
	r.Source = w.cleanSource(r.Source)
	size := w.maxTextLen(&r)
	switch {
	case w.output != nil:
		return fmt.Errorf("%w: an output takes lines only", ErrRecord)
	case len(r.Attributes) > 0 && !attributes.Valid(r.Attributes):
		return fmt.Errorf("%w: its attributes are not in their canonical form", ErrRecord)
	case len(r.Message) > record.MaxSize, size > MaxBlockRaw:
		return fmt.Errorf("%w: message of %d bytes takes %d bytes of text, at most %d and %d allowed",
			ErrRecord, len(r.Message), size, record.MaxSize, MaxBlockRaw)
	case int(r.Level) >= record.Levels:
		return fmt.Errorf("%w: level %d is unknown", ErrRecord, r.Level)
	case !w.tally.covers(r.Time):
		return fmt.Errorf("%w: its time %s is outside the bucket", ErrRecord, blobnaming.FormatTime(r.Time))
	}
	if err := w.reserve(size); err != nil {
		return err
	}
	w.cur.add(&r, &w.enc)
	w.tally.add(r.Time, r.Level, r.Source)
	w.tally.labels.add(r.Time, r.Level, r.Attributes, w.opts.Instance, w.cur.messageSize(len(r.Attributes)))
	return nil
}

// cleanSource is [record.CleanSource], faster if the source is that of the last record.
func (w *Writer) cleanSource(source string) string {
	if source != "" && source == w.tally.last { // already clean
		return source
	}
	return record.CleanSource(source)
}

// reserve makes space for a record of size bytes, starting a new block if it does not fit the current one.
func (w *Writer) reserve(size int) error {
	if len(w.cur.text) > 0 && len(w.cur.text)+size > w.opts.BlockSize {
		if w.Full() {
			return ErrFull
		}
		if err := w.endBlock(); err != nil {
			return err
		}
		w.cur.reserve(w.opts.BlockSize, w.opts.BlockSize) // a segment with one full block likely fills the next
	}
	w.cur.reserve(size, w.opts.BlockSize)
	return nil
}

// maxColumns is the maximum length of a record's text without its source, attributes and message.
const maxColumns = record.TimeLen + len("\tFATAL\t\t-\t\n")

// maxTextLen returns an upper bound of the length of the text of a record with a clean source. Each newline of a message
// takes a second byte. They are only counted if the message might not fit the current block; the bound is then at most 4
// bytes too large.
func (w *Writer) maxTextLen(r *record.Record) int {
	n := maxColumns + len(r.Source) + len(r.Attributes) + len(r.Message)
	if most := n + len(r.Message); len(w.cur.text)+most <= w.opts.BlockSize {
		return most
	}
	return n + bytes.Count(r.Message, []byte{'\n'})
}

// Full reports whether the block being filled is the last one of [MaxBlocks]. The caller should close the segment, since
// Append may return [ErrFull].
func (w *Writer) Full() bool {
	return w.ended()+1 >= MaxBlocks
}

// ended is the number of blocks before the one being filled.
func (w *Writer) ended() int {
	if w.compressing != nil {
		return len(w.blocks) + 1
	}
	return len(w.blocks)
}

// Size estimates the stored size of the segment if it ended now, for sealing by size.
func (w *Writer) Size() int64 {
	pending := int64(len(w.cur.text) + w.compressingRaw)
	if w.raw == 0 {
		return pending / 4 // a conservative guess until the first block is compressed
	}
	written := w.offset + w.sectionsSize()
	return written + int64(float64(pending)*float64(written)/float64(w.raw))
}

// Bound is the approximate maximum stored size of the segment if it ended now: text that is not compressed yet counts
// in full.
func (w *Writer) Bound() int64 {
	return w.offset + w.sectionsSize() + int64(len(w.cur.text)+w.compressingRaw)
}

// sectionsSize is the approximate size of the token filter and the columns of the blocks written.
func (w *Writer) sectionsSize() int64 {
	return w.tokens.Size() + w.columnsSize
}

// Close writes the last block, the sections and the footer, and returns the blob's metadata, with seq as its Seq. For a
// segment without records it returns [ErrEmpty].
func (w *Writer) Close(seq int64) (blobnaming.Metadata, error) {
	m, err := w.close(seq)
	if err != nil {
		w.err = err
	}
	w.Discard()
	return m, err
}

func (w *Writer) close(seq int64) (blobnaming.Metadata, error) {
	var none blobnaming.Metadata
	if w.err != nil {
		return none, w.err
	}
	if len(w.cur.text) == 0 && w.compressing == nil && len(w.blocks) == 0 {
		return none, ErrEmpty
	}
	if w.columns != nil && w.raw+int64(w.compressingRaw+len(w.cur.text)) < w.opts.Columns.MinText {
		w.columns, w.columnsSize = nil, 0
	}
	if err := w.endBlocks(); err != nil {
		return none, err
	}
	f := w.footer(seq)
	if !w.opts.NoFilter {
		if err := w.writeFilter(f); err != nil {
			return none, err
		}
	}
	if w.columns != nil {
		if err := w.writeColumns(f); err != nil {
			return none, err
		}
	}
	if w.output != nil {
		if err := w.writeOrigins(f); err != nil {
			return none, err
		}
	}
	if err := f.validate(); err != nil {
		return none, fmt.Errorf("end segment: %w", err)
	}
	frame, err := appendFooter(nil, f)
	if err == nil {
		err = w.write(frame)
	}
	if err != nil {
		return none, fmt.Errorf("write segment footer: %w", err)
	}
	return f.Metadata, nil
}

// Minutes returns the minutes that have records, as in the footer. It may be called after Close.
func (w *Writer) Minutes() []record.Minute { return w.tally.listMinutes() }

// Discard ends a Writer whose segment is not needed, and waits for its goroutine. After Close it does nothing.
func (w *Writer) Discard() {
	if w.compressing != nil {
		<-w.compressing
		w.compressing = nil
	}
	if w.err == nil {
		w.err = ErrClosed
	}
	w.cur, w.spareRefs, w.tokens, w.columns, w.output = block{}, nil, filter.Builder{}, nil, nil
}

// endBlocks writes all blocks, the one being filled included.
func (w *Writer) endBlocks() error {
	if len(w.cur.text) > 0 {
		if err := w.endBlock(); err != nil {
			return err
		}
	}
	return w.join()
}

// endBlock starts compressing the block being filled and begins another.
func (w *Writer) endBlock() error {
	if err := w.join(); err != nil {
		return err
	}
	if w.output != nil {
		w.output.endBlock()
	}
	done, full, builder := make(chan encoded, 1), w.cur, w.columns // close may drop w.columns
	go func() { done <- w.opts.Compressor.encode(full, !w.opts.NoFilter, builder) }()
	w.compressing, w.compressingRaw = done, len(full.text)
	w.cur = block{text: w.opts.Compressor.texts.get(), refs: w.spareRefs}
	w.spareRefs = nil
	return nil
}

// join waits for the block being compressed and writes it.
func (w *Writer) join() error {
	if w.compressing == nil {
		return nil
	}
	e := <-w.compressing
	w.compressing, w.compressingRaw, w.spareRefs = nil, 0, e.refs
	if err := w.writeBlock(&e.block, e.stored, e.tokens, w.opts.Instance); err != nil {
		return err
	}
	w.opts.Compressor.stored.put(e.stored)
	return nil
}

// writeBlock writes a compressed block of an instance and adds it to the segment.
func (w *Writer) writeBlock(b *Block, stored []byte, tokens filter.Set, instance string) error {
	b.Index, b.Offset = len(w.blocks), w.offset
	if err := w.write(stored); err != nil {
		w.err = fmt.Errorf("write block %d of segment: %w", b.Index, err)
		return w.err
	}
	w.blocks = append(w.blocks, *b)
	w.owners = append(w.owners, instance)
	if !w.opts.NoFilter {
		w.tokens.Add(tokens)
	}
	if w.columns != nil {
		w.columnsSize = w.columns.Size()
	}
	w.offset += b.Stored
	w.raw += b.Raw
	return nil
}

// writeFilter writes the section of the token filter and adds it to f.
func (w *Writer) writeFilter(f *Footer) error {
	if err := w.write(encodeFilter(&w.tokens, f)); err != nil {
		return fmt.Errorf("write token filter of segment: %w", err)
	}
	return nil
}

// writeColumns writes the section of columns, if there are any, and adds it to f.
func (w *Writer) writeColumns(f *Footer) error {
	all := w.columns.Columns()
	if len(all) == 0 {
		return nil
	}
	frame, err := encodeColumns(all, w.columns.Forms(), f)
	if err != nil {
		return fmt.Errorf("end segment: %w", err)
	}
	if err := w.write(frame); err != nil {
		return fmt.Errorf("write columns of segment: %w", err)
	}
	return nil
}

// write writes all of b or fails.
func (w *Writer) write(b []byte) error {
	n, err := w.w.Write(b)
	if err == nil && n != len(b) {
		err = io.ErrShortWrite
	}
	return err
}

// footer returns the footer for the blocks written, without sections.
func (w *Writer) footer(seq int64) *Footer {
	f := &Footer{
		Metadata: blobnaming.Metadata{
			Start:    w.blocks[0].Start,
			End:      w.blocks[0].End,
			RawBytes: uint64(w.raw),
			Instance: w.opts.Instance,
			Seq:      seq,
			Class:    w.opts.Class,
			Parse:    w.opts.Parse,
			Footer:   w.offset,
		},
		Salt:        w.opts.Salt,
		Service:     w.opts.Service,
		BucketStart: w.opts.BucketStart,
		BucketWidth: w.opts.BucketWidth,
		Sources:     w.tally.listSources(),
		Minutes:     w.tally.listMinutes(),
		OnMinute:    w.tally.listOnMinute(),
		Blocks:      w.blocks,
	}
	w.setInstances(f)
	f.Labels, f.Unlisted = w.tally.labels.list()
	f.Metadata.Labels = uint32(len(f.Labels))
	for _, b := range w.blocks {
		f.Start, f.End = min(f.Start, b.Start), max(f.End, b.End)
		f.Records += b.Records
		f.Levels.Add(b.Levels)
	}
	return f
}

// setInstances sets the instances of f and its blocks, if any block is of another instance than the segment.
func (w *Writer) setInstances(f *Footer) {
	if !slices.ContainsFunc(w.owners, func(name string) bool { return name != w.opts.Instance }) {
		return
	}
	f.Instances = slices.Compact(slices.Sorted(slices.Values(w.owners)))
	f.Metadata.Instances = uint32(len(f.Instances))
	for i := range f.Blocks {
		f.Blocks[i].Instance, _ = slices.BinarySearch(f.Instances, w.owners[i])
	}
}
