package filestore

import (
	"cmp"
	"encoding/binary"
	"io"

	"logstow/record"
	"logstow/spill"
)

// keys orders records by time, and encodes them without their messages for runs: time, level, number of the source.
type keys struct{ sources spill.Numbers[string] }

// Compare implements [spill.Keys].
func (k *keys) Compare(a, b record.Record) int { return cmp.Compare(a.Time, b.Time) }

// keySize is the length of an encoded key.
const keySize = 13

// Encode implements [spill.Keys].
func (k *keys) Encode(buffer []byte, r record.Record) []byte {
	buffer = append(binary.BigEndian.AppendUint64(buffer, uint64(r.Time)), byte(r.Level))
	return binary.BigEndian.AppendUint32(buffer, k.sources.Of(r.Source))
}

// Decode implements [spill.Keys].
func (k *keys) Decode(encoded []byte) (r record.Record, ok bool) {
	if len(encoded) != keySize {
		return r, false
	}
	r.Time, r.Level = int64(binary.BigEndian.Uint64(encoded)), record.Level(encoded[8])
	r.Source, ok = k.sources.Value(binary.BigEndian.Uint32(encoded[9:]))
	return r, ok
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

// Payload implements [spill.Cursor]: it returns the message of the record.
func (c *cursor) Payload(*[]byte) ([]byte, error) { return c.records[c.next-1].Message, nil }
