package segment

import (
	"cmp"
	"iter"
	"slices"

	"logstow/columns"
	"logstow/filter"
	"logstow/record"
)

// block is the text of a block being filled.
type block struct {
	text []byte
	// refs locate the records in text, for sorting.
	refs     []recordRef
	unsorted bool
	levels   record.Counts
	// attributes is the number of records that have any.
	attributes uint64
	// start and end are the minimum and maximum time.
	start, end int64
	// stored is the text compressed, if it is known.
	stored []byte
}

// recordRef locates a record in the text of a block. Offsets up to MaxBlockRaw fit 32 bits.
type recordRef struct {
	time int64
	// The record is text[from:to], newline included; its attributes begin at attributes, its message follows.
	from, attributes, to uint32
}

// minText is the initial capacity of a block's text, enough for a segment of one record.
const minText = 512

// reserve makes space for n more bytes, doubling the capacity, but not past limit if that suffices.
func (b *block) reserve(n, limit int) {
	need := len(b.text) + n
	if need <= cap(b.text) {
		return
	}
	size := max(need, min(2*cap(b.text), limit), min(minText, limit))
	text := make([]byte, len(b.text), size)
	copy(text, b.text)
	b.text = text
}

// add appends a record whose source [record.CleanSource] has cleaned.
func (b *block) add(r *record.Record, enc *record.Encoder) {
	from := len(b.text)
	b.text = enc.AppendText(b.text, r)
	if from == 0 {
		b.start, b.end = r.Time, r.Time
	}
	if r.Time < b.end {
		b.unsorted = true
	}
	b.start, b.end = min(b.start, r.Time), max(b.end, r.Time)
	b.levels[r.Level]++
	at := from + record.TimeLen + len(r.Level.String()) + len(r.Source) + len("\t\t\t")
	b.refs = append(b.refs, recordRef{time: r.Time, from: uint32(from), attributes: uint32(at), to: uint32(len(b.text))})
	if len(r.Attributes) > 0 {
		b.attributes++
	}
}

// messageSize is the size as text of the message of the record added last, whose attributes have a length.
func (b *block) messageSize(attributes int) int {
	last := b.refs[len(b.refs)-1]
	return int(last.to-last.attributes) - max(attributes, len("-")) - len("\t\n")
}

// addLine appends a record that is not earlier than the last one.
func (b *block) addLine(line record.Line) {
	from := len(b.text)
	b.text = append(b.text, line.Text...)
	if from == 0 {
		b.start = line.Time
	}
	b.end = line.Time
	b.levels[line.Level]++
	to := len(b.text)
	if len(line.Attributes) > 0 {
		b.attributes++
	}
	at := from + line.Prefix()
	b.refs = append(b.refs, recordRef{time: line.Time, from: uint32(from), attributes: uint32(at), to: uint32(to)})
}

// prefixes yields start and end of the text before the attributes and the message of each record, for a block that is not sorted yet.
func (b *block) prefixes() iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		for _, r := range b.refs {
			if !yield(int(r.from), int(r.attributes)) {
				return
			}
		}
	}
}

// sort sorts the records by time; records of equal time keep their order. It writes into spare and returns the old text
// for reuse.
func (b *block) sort(spare []byte) []byte {
	if !b.unsorted {
		return spare
	}
	slices.SortFunc(b.refs, func(x, y recordRef) int {
		return cmp.Or(cmp.Compare(x.time, y.time), cmp.Compare(x.from, y.from))
	})
	spare = slices.Grow(spare[:0], len(b.text))
	for _, r := range b.refs {
		spare = append(spare, b.text[r.from:r.to]...)
	}
	b.text, spare = spare, b.text
	b.unsorted = false
	return spare
}

// encoded is a compressed block that has no place in the segment yet.
type encoded struct {
	stored []byte
	block  Block
	refs   []recordRef
	tokens filter.Set
}

// encode sorts and compresses a block. It collects tokens if requested, and columns unless builder is nil.
func (c *Compressor) encode(b block, tokens bool, builder *columns.Builder) encoded {
	var set filter.Set
	if tokens {
		collector := c.collectors.get()
		set = collector.Collect(b.text, b.prefixes())
		c.collectors.put(collector)
	}
	if b.unsorted {
		c.texts.put(b.sort(c.texts.get()))
	}
	stored := b.stored
	if stored == nil {
		stored = c.Encode(c.stored.get(), b.text)
	}
	if builder != nil {
		s := c.scratches.get()
		builder.AddBlock(s, b.text, len(b.refs), b.start, int64(len(stored)))
		c.scratches.put(s)
	}
	e := encoded{
		stored: stored,
		block: Block{
			Stored:     int64(len(stored)),
			Raw:        int64(len(b.text)),
			Records:    uint64(len(b.refs)),
			Attributes: b.attributes,
			Levels:     b.levels,
			Start:      b.start,
			End:        b.end,
			Hash:       HashOf(stored),
		},
		refs:   b.refs[:0],
		tokens: set,
	}
	c.texts.put(b.text)
	return e
}
