package merge

import (
	"logstow/query/source"
	"logstow/record"
)

// Match is a record found.
type Match struct {
	// Segment is the segment from which it was read.
	Segment *source.Segment
	// Store is the store of the segment in which it was planned, usually that of Segment.
	Store string
	// Instance is the instance that logged it.
	Instance string
	// Time is its time in Unix nanoseconds.
	Time int64
	// Line is its stored text without the last newline. It is valid until the function that received it returns.
	Line []byte
	// Context is set if it is not a match but near one. Gap is set unless it directly follows the record emitted before it,
	// in the same source. See [ContextCollector].
	Context, Gap bool

	// message is the offset of the message in Line, 0 if Line is not split yet.
	message int
	level   record.Level
}

// NewMatch makes a Match from a record's segment, stored text and columns. It returns an error if the time is malformed.
func NewMatch(s *source.Segment, line []byte, c *record.Columns) (Match, error) {
	at, err := record.ParseTime(line[:record.TimeLen])
	return Match{Segment: s.Blob(), Store: s.Store, Instance: s.Meta.Instance, Time: at, Line: line, message: len(line) - len(c.Raw), level: c.Level}, err
}

// columns returns the columns of Line.
func (m *Match) columns() record.Columns {
	if m.message == 0 {
		c, _ := record.Split(m.Line)
		return c
	}
	source := record.TimeLen + len(m.level.String()) + 2 // two TABs
	return record.Columns{Level: m.level, Source: m.Line[source : m.message-1], Raw: m.Line[m.message:]}
}

// Level is the record's level.
func (m *Match) Level() record.Level { return m.columns().Level }

// Source is the record's source inside the instance.
func (m *Match) Source() []byte { return m.columns().Source }

// Message is the message as stored: a TAB follows each newline; see [record.AppendMessage].
func (m *Match) Message() []byte {
	if m.message == 0 {
		return m.columns().Raw
	}
	return m.Line[m.message:]
}
