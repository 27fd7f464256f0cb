package fetch

import (
	"logstow/query/source"
	"logstow/record"
)

// Matches are the matching records of one block.
type Matches struct {
	Segment *source.Segment
	Block   int // its index in the segment
	// Inputs are those of an output of compaction, by [Span.Input]; nil of any other segment.
	Inputs []source.Segment
	Text   []byte
	Spans  []Span
}

// Span is a record in the text of [Matches].
type Span struct {
	Time       int64
	Start, End uint32
	// Message is the offset of the message in the record.
	Message uint32
	Level   record.Level
	// Input is the index of the record's input of an output of compaction.
	Input uint32
}

// Origin is the segment that a record was written in: an input of Segment if that is an output
// of compaction.
func (m *Matches) Origin(s *Span) *source.Segment {
	if m.Inputs == nil {
		return m.Segment
	}
	return &m.Inputs[s.Input]
}
