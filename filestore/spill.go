package filestore

import (
	"io"

	"logstow/record"
	"logstow/spill"
)

// keys orders records by service and time, and encodes them without attributes and messages for runs: time, number of service and source,
// level.
type keys struct{ origins spill.Numbers[origin] }

// origin is a service and a source.
type origin struct{ service, source string }

// Compare implements [spill.Keys].
func (k *keys) Compare(a, b entry) int { return compareEntries(a, b) }

// Encode implements [spill.Keys].
func (k *keys) Encode(buffer []byte, r entry) []byte {
	return spill.EncodeTimed(buffer, r.Time, k.origins.Of(origin{r.service, r.Source}), uint32(r.Level))
}

// Decode implements [spill.Keys].
func (k *keys) Decode(encoded []byte) (r entry, ok bool) {
	time, number, level, ok := spill.DecodeTimed(encoded)
	from, known := k.origins.Value(number)
	return entry{from.service, record.Record{Time: time, Level: record.Level(level), Source: from.source}}, ok && known
}

// cursor reads records in memory.
type cursor struct {
	records []entry
	next    int
}

// Next implements [spill.Cursor].
func (c *cursor) Next() (r entry, err error) {
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
