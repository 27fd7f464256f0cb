package compaction

import (
	"cmp"
	"io"

	"logstow/record"
	"logstow/spill"
)

// position is the position of a record in the output: time, then part of the inputs. Blocks of one part may overlap.
type position struct {
	time        int64
	part, block uint32
}

// compare compares positions in the order of the output.
func (p position) compare(other position) int {
	if c := cmp.Compare(p.time, other.time); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(p.part, other.part), cmp.Compare(p.block, other.block))
}

// positions compares positions, and encodes them for runs: time, part, block.
type positions struct{}

// Compare implements [spill.Keys].
func (positions) Compare(a, b position) int { return a.compare(b) }

// Encode implements [spill.Keys].
func (positions) Encode(buffer []byte, p position) []byte {
	return spill.EncodeTimed(buffer, p.time, p.part, p.block)
}

// Decode implements [spill.Keys].
func (positions) Decode(encoded []byte) (p position, ok bool) {
	p.time, p.part, p.block, ok = spill.DecodeTimed(encoded)
	return p, ok
}

// cursor reads the records of a block in memory.
type cursor struct {
	position
	line record.Line
	// text is the rest of the block, whole its whole buffer.
	text, whole []byte
	// ended receives whole after the last record.
	ended func(whole []byte)
}

// Next implements [spill.Cursor].
func (c *cursor) Next() (p position, err error) {
	if len(c.text) == 0 {
		c.ended(c.whole)
		return p, io.EOF
	}
	c.line, c.text, err = record.Next(c.text)
	c.time = c.line.Time
	return c.position, err
}

// Payload implements [spill.Cursor]: it returns the text of the record.
func (c *cursor) Payload(*[]byte) ([]byte, error) { return c.line.Text, nil }
