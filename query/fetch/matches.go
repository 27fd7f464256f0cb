package fetch

import (
	"logstow/query/source"
	"logstow/record"
)

// Matches are the matching records of one block.
type Matches struct {
	Segment *source.Segment
	Block   int // its index in the segment
	// Inputs are the inputs of an output of compaction, indexed by [Span.Input]; nil for other segments.
	Inputs []source.Segment
	Text   []byte
	Spans  []Span
}

// Span is a record in the text of [Matches].
type Span struct {
	Time       int64
	Start, End uint32
	// Message is the offset of the message in the record, in bytes.
	Message uint32
	Level   record.Level
	// Input is the index of the record's input, in an output of compaction.
	Input uint32
}

// Origin returns the segment in which a record was written: for an output of compaction, one of its inputs.
func (m *Matches) Origin(s *Span) *source.Segment {
	if m.Inputs == nil {
		return m.Segment
	}
	return &m.Inputs[s.Input]
}
