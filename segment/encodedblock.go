package segment

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"

	"logstow/blobnaming"
	"logstow/filter"
	"logstow/record"
)

// EncodedBlock is a block that is encoded before the segment that it goes into is known. It may be kept elsewhere
// until then: [Decoder.DecodeRecords] decodes its stored bytes alone. For one goroutine at a time.
type EncodedBlock struct {
	block    Block
	stored   []byte
	tokens   filter.Set
	noFilter bool
	records  []record.Record
	// pools get stored back.
	pools *pools
}

// EncodeBlock encodes records as a block: sorted by time, those of equal time in their order. There must be at least
// one, each valid for a [Writer], with at most [MaxBlockRaw] bytes of text in all. noFilter omits the tokens, as
// [Options] do. The records must not change until [Writer.AppendBlock] has the block.
func (c *Compressor) EncodeBlock(records []record.Record, noFilter bool) *EncodedBlock {
	size := 0
	for i := range records {
		size += maxColumns + len(records[i].Source) + len(records[i].Message)
	}
	refs := c.refs.get()
	b := block{text: slices.Grow(c.texts.get(), size), refs: slices.Grow((*refs)[:0], len(records))}
	var enc record.Encoder
	var source, clean string
	for i := range records {
		r := &records[i]
		if i == 0 || r.Source != source {
			source, clean = r.Source, record.CleanSource(r.Source)
		}
		if clean != source {
			cleaned := *r
			r, cleaned.Source = &cleaned, clean
		}
		b.add(r, &enc)
	}
	e := c.encode(b, !noFilter, nil)
	*refs = e.refs
	c.refs.put(refs)
	return &EncodedBlock{e.block, e.stored, e.tokens, noFilter, records, c.pools}
}

// Stored are the bytes of the block in a segment. They must not be changed.
func (b *EncodedBlock) Stored() []byte { return b.stored }

// Raw is the size of the block's text in bytes.
func (b *EncodedBlock) Raw() int64 { return b.block.Raw }

// Records is the number of records.
func (b *EncodedBlock) Records() int { return len(b.records) }

// AppendBlock appends the records of a block, behind those that were appended before, as a block of their own. The block must not be
// used afterwards. The errors are those of Append. The Writer must have no columns, and a filter only if the block has tokens.
func (w *Writer) AppendBlock(b *EncodedBlock) error {
	switch {
	case w.err != nil:
		return w.err
	case w.columns != nil || w.output != nil || b.noFilter != w.opts.NoFilter:
		return fmt.Errorf("%w: the segment needs more than the block has", ErrRecord)
	case !w.tally.covers(b.block.Start) || !w.tally.covers(b.block.End):
		return fmt.Errorf("%w: its times %s to %s are not all in the bucket",
			ErrRecord, blobnaming.FormatTime(b.block.Start), blobnaming.FormatTime(b.block.End))
	case w.Full():
		return ErrFull
	}
	if err := w.endBlocks(); err != nil {
		return err
	}
	if err := w.writeBlock(&b.block, b.stored, b.tokens); err != nil {
		return err
	}
	b.pools.stored.put(b.stored)
	b.stored = nil
	w.opts.Compressor.texts.put(w.cur.text) // other blocks may follow
	w.cur = block{}
	for i := range b.records {
		r := &b.records[i]
		w.tally.add(r.Time, r.Level, w.cleanSource(r.Source))
	}
	return nil
}

// DecodeRecords decodes the stored bytes of a block into records, which refer to the result's own memory. Unlike
// DecodeBlock it needs no footer: it takes the size of the text from the frame, and checks it with the frame's checksum.
func (d *Decoder) DecodeRecords(stored []byte) ([]record.Record, error) {
	var h zstd.Header
	if err := h.Decode(stored); err != nil {
		return nil, fmt.Errorf("decode a block: %w", err)
	}
	text, err := d.decode(nil, stored, int64(min(h.FrameContentSize, MaxBlockRaw+1)))
	if err != nil {
		return nil, fmt.Errorf("decode a block: %w", err)
	}
	var records []record.Record
	var source string
	for len(text) > 0 {
		var line record.Line
		if line, text, err = record.Next(text); err != nil {
			return nil, fmt.Errorf("decode record %d of a block: %w", len(records), err)
		}
		if string(line.Source) != source {
			source = string(line.Source)
		}
		message := line.Raw
		if bytes.IndexByte(message, '\n') >= 0 {
			message = record.AppendMessage(nil, message)
		}
		records = append(records, record.Record{Time: line.Time, Level: line.Level, Source: source, Message: message})
	}
	return records, nil
}
