package sorting

import (
	"encoding/binary"
	"errors"

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
	next := func() int {
		v, n := binary.Uvarint(payload)
		if n <= 0 || v > 1<<31 {
			err = errCorrupt
			return 0
		}
		payload = payload[n:]
		return int(v)
	}
	text := func() string {
		n := next()
		if n > len(payload) {
			err = errCorrupt
			return ""
		}
		s := string(payload[:n])
		payload = payload[n:]
		return s
	}
	number := next()
	m.Store, m.Instance = text(), text()
	if err != nil || number >= len(segments) || len(payload) < record.TimeLen {
		return m, errCorrupt
	}
	m.Segment, m.Line = segments[number], payload
	m.Time, err = record.ParseTime(payload[:record.TimeLen])
	return m, err
}
