package sorting

import (
	"encoding/binary"
	"errors"

	"logstow/internal/wire"
	"logstow/query/merge"
	"logstow/query/source"

	"logstow/record"
)

// place is the place of a record: it was read from segment and written in origin.
type place struct {
	segment, origin *source.Segment
	number          int // index of the segment
}

var errCorrupt = errors.New("cannot read temporary file: invalid record")

// append encodes a record: number of the segment (uvarint), store and instance of its origin (length as uvarint, text), stored text.
func (p *place) append(dst, line []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(p.number))
	for _, text := range [...]string{p.origin.Store, p.origin.Meta.Instance} {
		dst = append(binary.AppendUvarint(dst, uint64(len(text))), text...)
	}
	return append(dst, line...)
}

// decode decodes a record that append encoded.
func decode(payload []byte, segments []*source.Segment) (m merge.Match, err error) {
	r := wire.Reader{Rest: payload}
	number := r.Uvarint()
	m.Store, m.Instance = string(r.Text()), string(r.Text())
	if r.Bad || number >= uint64(len(segments)) || len(r.Rest) < record.TimeLen {
		return m, errCorrupt
	}
	m.Segment, m.Line = segments[number], r.Rest
	m.Time, err = record.ParseTime(m.Line[:record.TimeLen])
	return m, err
}
