package segment

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"

	"logstow/blobnaming"
	"logstow/filter"
	"logstow/record"
)

// EncodedBlock is a block that is encoded before its segment is known. Until then its stored bytes may be kept
// elsewhere: [Decoder.DecodeRecords] decodes them without a footer. Not safe for concurrent use.
type EncodedBlock struct {
	block    Block
	stored   []byte
	tokens   filter.Set
	noFilter bool
	records  []record.Record
	// instance is that of the records, "" for that of the segment.
	instance string
	// pools takes stored back for reuse, unless it is nil.
	pools *pools
}

// EncodeBlock encodes records as a block, sorted by time; records of equal time keep their order. There must be at least
// one record, each valid for a [Writer], with at most [MaxBlockRaw] bytes of text in total. noFilter is that of [Options].
// The records must not change until [Writer.AppendBlock] has returned.
func (c *Compressor) EncodeBlock(records []record.Record, noFilter bool) *EncodedBlock {
	e := c.encodeText(records, noFilter, nil)
	return &EncodedBlock{block: e.block, stored: e.stored, tokens: e.tokens, noFilter: noFilter, records: records, pools: c.pools}
}

// encodeText makes the text of records, and compresses it unless stored has it.
func (c *Compressor) encodeText(records []record.Record, noFilter bool, stored []byte) encoded {
	size := 0
	for i := range records {
		size += maxColumns + len(records[i].Source) + len(records[i].Attributes) + len(records[i].Message)
	}
	refs := c.refs.get()
	b := block{text: slices.Grow(c.texts.get(), size), refs: slices.Grow((*refs)[:0], len(records)), stored: stored}
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
	return e
}

// RelayBlock makes an EncodedBlock of a block of another segment, whose records are those of an instance. stored are its bytes, records
// those that [Decoder.DecodeRecords] returns for them; both must not change until [Writer.AppendBlock] has returned. Nothing is compressed
// again, so the records must be in the order of their times.
func (c *Compressor) RelayBlock(stored []byte, records []record.Record, instance string, noFilter bool) (*EncodedBlock, error) {
	if !slices.IsSortedFunc(records, func(a, b record.Record) int { return cmp.Compare(a.Time, b.Time) }) {
		return nil, fmt.Errorf("%w: the records of the block are not in the order of their times", ErrRecord)
	}
	e := c.encodeText(records, noFilter, stored)
	return &EncodedBlock{block: e.block, stored: stored, tokens: e.tokens, noFilter: noFilter, records: records, instance: instance}, nil
}

// Of makes the records of the block those of an instance, as [Compressor.RelayBlock] does, and returns the block.
func (b *EncodedBlock) Of(instance string) *EncodedBlock {
	b.instance = instance
	return b
}

// Stored returns the bytes of the block as in a segment. The caller must not change them.
func (b *EncodedBlock) Stored() []byte { return b.stored }

// Raw is the size of the block's text in bytes.
func (b *EncodedBlock) Raw() int64 { return b.block.Raw }

// Records is the number of records.
func (b *EncodedBlock) Records() int { return len(b.records) }

// AppendBlock appends an encoded block, as a block of its own after the records appended so far. b must not be used
// afterwards. The errors are those of Append. The Writer must be without columns and inputs, and have the NoFilter with
// which b was encoded. After a block of [Compressor.RelayBlock] the segment gets no columns.
func (w *Writer) AppendBlock(b *EncodedBlock) error {
	instance := b.instance
	if instance == "" {
		instance = w.opts.Instance
	} else {
		w.columns, w.columnsSize = nil, 0
	}
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
	if err := w.writeBlock(&b.block, b.stored, b.tokens, instance); err != nil {
		return err
	}
	if b.pools != nil {
		b.pools.stored.put(b.stored)
	}
	b.stored = nil
	w.opts.Compressor.texts.put(w.cur.text) // other blocks may follow
	w.cur = block{}
	for i := range b.records {
		r := &b.records[i]
		w.tally.add(r.Time, r.Level, w.cleanSource(r.Source))
		w.tally.labels.add(r.Time, r.Level, r.Attributes, instance, len(r.Message)+bytes.Count(r.Message, []byte{'\n'}))
	}
	return nil
}

// DecodeRecords decodes the stored bytes of a block into records, which do not refer to stored. It needs no footer: the
// frame has the size of the text and its checksum.
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
		records = append(records, record.Record{
			Time:       line.Time,
			Level:      line.Level,
			Source:     source,
			Attributes: line.Attributes,
			Message:    message,
		})
	}
	return records, nil
}
