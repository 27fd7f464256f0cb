package fetch

import (
	"logstow/query/source"
	"logstow/record"
)

// Matches are the matching records of one block.
type Matches struct {
	Segment *source.Segment
	Block   int // its index in the segment
	// Parts are the parts of a mixed segment, indexed by [Span.Part]; nil for other segments.
	Parts []source.Segment
	Text  []byte
	Spans []Span
}

// Span is a record in the text of [Matches].
type Span struct {
	Time       int64
	Start, End uint32
	// Message is the offset of the message in the record, in bytes.
	Message uint32
	Level   record.Level
	// Part is the index of the record's part, in a mixed segment.
	Part uint32
}

// Origin returns the segment in which a record was written: for a mixed segment, one of its parts.
func (m *Matches) Origin(s *Span) *source.Segment {
	if m.Parts == nil {
		return m.Segment
	}
	return &m.Parts[s.Part]
}
