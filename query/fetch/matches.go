package fetch

import (
	"logstow/query/source"
	"logstow/record"
)

// Matches are the matching records of one block.
type Matches struct {
	Segment *source.Segment
	Block   int // its index in the segment
	Text    []byte
	Spans   []Span
}

// Span is a record in the text of [Matches].
type Span struct {
	Time       int64
	Start, End uint32
	// Message is the offset of the message in the record.
	Message uint32
	Level   record.Level
}
