package segment

import (
	"fmt"
	"math"

	"logstow/blobnaming"
	"logstow/record"
)

// output is the state of a Writer of a compaction output.
type output struct {
	// ids has the input of each record of the block being filled.
	ids []uint32
	// pages are the encoded pages of the blocks before it, places their lengths and hashes.
	pages  []byte
	places []OriginPage
	enc    *pageEncoder
	// time and input are those of the last record.
	time  int64
	input int
	// short is the number of blocks that ended before they were full, because a stored block followed.
	short int
}

func newOutput(inputs int) *output {
	return &output{enc: newPageEncoder(inputs), time: math.MinInt64}
}

// AppendLine is Append for a compaction output: it adds a record of an input, an index into Options.Inputs. Records must
// come in order of time, then of input. A record out of order is rejected with [ErrRecord].
func (w *Writer) AppendLine(line record.Line, input int) error {
	if err := w.checkLine(&line, input); err != nil {
		return err
	}
	if err := w.reserve(len(line.Text)); err != nil {
		return err
	}
	w.addLine(line, input)
	return nil
}

// checkLine checks a record before it is added.
func (w *Writer) checkLine(line *record.Line, input int) error {
	if w.err != nil {
		return w.err
	}
	o := w.output
	switch {
	case o == nil || input < 0 || input >= len(w.opts.Inputs):
		return fmt.Errorf("%w: input %d of %d", ErrRecord, input, len(w.opts.Inputs))
	case len(line.Text) > MaxBlockRaw:
		return fmt.Errorf("%w: %d bytes of text, at most %d allowed", ErrRecord, len(line.Text), MaxBlockRaw)
	case !w.tally.covers(line.Time):
		return fmt.Errorf("%w: its time %s is outside the bucket", ErrRecord, blobnaming.FormatTime(line.Time))
	case line.Time < o.time, line.Time == o.time && input < o.input:
		return fmt.Errorf("%w: it is out of order", ErrRecord)
	}
	return nil
}

// addLine adds a record for which there is space.
func (w *Writer) addLine(line record.Line, input int) {
	w.cur.addLine(line)
	w.tally.addBytes(line.Time, line.Level, line.Source)
	w.tally.labels.add(line.Time, line.Level, line.Attributes, w.opts.Inputs[input].Instance, len(line.Raw))
	o := w.output
	o.ids = append(o.ids, uint32(input))
	o.time, o.input = line.Time, input
}

// minStored and maxStored are the sizes of text at which a stored block is worth a block of its own, as shares of the block size.
const minStored, maxStored = 0.75, 2.0

// AppendStored is AppendLine for all records of a block of an input, in text, which are stored as they are. It is not ok if the block would
// make the segment's blocks too small; then nothing is added. If it is ok, stored belongs to the Writer.
func (w *Writer) AppendStored(text, stored []byte, input int) (ok bool, err error) {
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
			err = w.checkLine(&line, input)
		}
		if err != nil {
			w.err = err
			return false, err
		}
		w.addLine(line, input)
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
	frame, err := encodeOrigins(w.opts.Inputs, w.output.pages, w.output.places, f)
	if err != nil {
		return fmt.Errorf("end segment: %w", err)
	}
	if err := w.write(frame); err != nil {
		return fmt.Errorf("write origins of segment: %w", err)
	}
	return nil
}
