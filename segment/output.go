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
}

func newOutput(inputs int) *output {
	return &output{enc: newPageEncoder(inputs), time: math.MinInt64}
}

// AppendLine is Append for a compaction output: it adds a record of an input, an index into Options.Inputs. Records must
// come in order of time, then of input. A record out of order is rejected with [ErrRecord].
func (w *Writer) AppendLine(line record.Line, input int) error {
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
	if err := w.reserve(len(line.Text)); err != nil {
		return err
	}
	w.cur.addLine(line)
	w.tally.addBytes(line.Time, line.Level, line.Source)
	o.ids = append(o.ids, uint32(input))
	o.time, o.input = line.Time, input
	return nil
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
