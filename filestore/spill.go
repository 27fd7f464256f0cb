package filestore

import (
	"cmp"
	"io"

	"logstow/record"
	"logstow/spill"
)

// keys orders records by time, and encodes them without attributes and messages for runs: time, number of the source, level.
type keys struct{ sources spill.Numbers[string] }

// Compare implements [spill.Keys].
func (k *keys) Compare(a, b record.Record) int { return cmp.Compare(a.Time, b.Time) }

// Encode implements [spill.Keys].
func (k *keys) Encode(buffer []byte, r record.Record) []byte {
	return spill.EncodeTimed(buffer, r.Time, k.sources.Of(r.Source), uint32(r.Level))
}

// Decode implements [spill.Keys].
func (k *keys) Decode(encoded []byte) (r record.Record, ok bool) {
	time, number, level, ok := spill.DecodeTimed(encoded)
	source, known := k.sources.Value(number)
	return record.Record{Time: time, Level: record.Level(level), Source: source}, ok && known
}

// cursor reads records in memory.
type cursor struct {
	records []record.Record
	next    int
}

// Next implements [spill.Cursor].
func (c *cursor) Next() (r record.Record, err error) {
	if c.next == len(c.records) {
		return r, io.EOF
	}
	c.next++
	return c.records[c.next-1], nil
}

// Payload implements [spill.Cursor]: it returns the attributes of the record, a TAB, which they do not contain, and the message.
func (c *cursor) Payload(buffer *[]byte) ([]byte, error) {
	r := &c.records[c.next-1]
	*buffer = append(append((*buffer)[:0], r.Attributes...), '\t')
	*buffer = append(*buffer, r.Message...)
	return *buffer, nil
}
