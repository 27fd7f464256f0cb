package segment

import (
	"fmt"
	"math"
	"slices"

	"logstow/blobnaming"
	"logstow/record"
)

// output is the state of a Writer of a compaction output.
type output struct {
	parts []Part
	// ids has the part of each record of the block being filled.
	ids []uint32
	// pages are the encoded pages of the blocks before it, places their lengths and hashes.
	pages  []byte
	places []OriginPage
	enc    *pageEncoder
	// time and part are those of the last record.
	time int64
	part int
	// short is the number of blocks that ended before they were full, because a stored block followed.
	short int
}

func newOutput(parts []Part) *output {
	parts = slices.Clone(parts)
	for i := range parts {
		parts[i].Levels = record.Counts{}
	}
	return &output{parts: parts, enc: newPageEncoder(len(parts)), time: math.MinInt64}
}

// AppendLine is Append for a compaction output: it adds a record of a part of the inputs, an index into Options.Parts. Records must
// come in order of time, then of part. A record out of order is rejected with [ErrRecord].
func (w *Writer) AppendLine(line record.Line, part int) error {
	if err := w.checkLine(&line, part); err != nil {
		return err
	}
	if err := w.reserve(len(line.Text)); err != nil {
		return err
	}
	w.addLine(line, part)
	return nil
}

// checkLine checks a record before it is added.
func (w *Writer) checkLine(line *record.Line, part int) error {
	if w.err != nil {
		return w.err
	}
	o := w.output
	switch {
	case o == nil || part < 0 || part >= len(o.parts):
		return fmt.Errorf("%w: part %d of no input", ErrRecord, part)
	case len(line.Text) > MaxBlockRaw:
		return fmt.Errorf("%w: %d bytes of text, at most %d allowed", ErrRecord, len(line.Text), MaxBlockRaw)
	case !w.tally.covers(line.Time):
		return fmt.Errorf("%w: its time %s is outside the bucket", ErrRecord, blobnaming.FormatTime(line.Time))
	case line.Time < o.time, line.Time == o.time && part < o.part:
		return fmt.Errorf("%w: it is out of order", ErrRecord)
	}
	return nil
}

// addLine adds a record for which there is space.
func (w *Writer) addLine(line record.Line, part int) {
	w.cur.addLine(line)
	w.tally.addBytes(line.Time, line.Level, line.Source)
	o := w.output
	w.tally.labels.add(line.Time, line.Level, line.Attributes, o.parts[part].Instance, len(line.Raw))
	o.parts[part].Levels[line.Level]++
	o.ids = append(o.ids, uint32(part))
	o.time, o.part = line.Time, part
}

// minStored and maxStored are the sizes of text at which a stored block is worth a block of its own, as shares of the block size.
const minStored, maxStored = 0.75, 2.0

// AppendStored is AppendLine for all records of a block of a part, in text, which are stored as they are. It is not ok if the block would
// make the segment's blocks too small; then nothing is added. If it is ok, stored belongs to the Writer.
func (w *Writer) AppendStored(text, stored []byte, part int) (ok bool, err error) {
	if w.err != nil {
		return false, w.err
	}
	const more = 3 // blocks: the one being filled, this one, and one for what follows
	size, full, filled := float64(len(text)), float64(w.opts.BlockSize), float64(len(w.cur.text))
	short := filled > 0 && filled < minStored*full
	switch {
	case w.output == nil || size < minStored*full || size > maxStored*full || w.ended()+more > MaxBlocks:
		return false, nil
	case short && w.output.short >= w.ended()/4:
		return false, nil
	case short:
		w.output.short++
	}
	if filled > 0 {
		if err := w.endBlock(); err != nil {
			return false, err
		}
	}
	w.cur.reserve(len(text), len(text))
	for len(text) > 0 {
		var line record.Line
		if line, text, err = record.Next(text); err == nil {
			err = w.checkLine(&line, part)
		}
		if err != nil {
			w.err = err
			return false, err
		}
		w.addLine(line, part)
	}
	w.cur.stored = stored
	return true, w.endBlock()
}

// endBlock encodes the page of the block being filled.
func (o *output) endBlock() {
	from := len(o.pages)
	o.pages = o.enc.append(o.pages, o.ids)
	o.places = append(o.places, OriginPage{Length: int64(len(o.pages) - from), Hash: HashOf(o.pages[from:])})
	o.ids = o.ids[:0]
}

// writeOrigins writes the section of origins and adds it to f.
func (w *Writer) writeOrigins(f *Footer) error {
	frame, err := encodeOrigins(w.opts.Inputs, w.output.parts, w.output.pages, w.output.places, f)
	if err != nil {
		return fmt.Errorf("end segment: %w", err)
	}
	if err := w.write(frame); err != nil {
		return fmt.Errorf("write origins of segment: %w", err)
	}
	return nil
}
