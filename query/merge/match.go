package merge

import (
	"bytes"

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
	return Match{
		Segment:  s.Blob(),
		Store:    s.Store,
		Instance: s.Meta.Instance,
		Time:     at,
		Line:     line,
		message:  len(line) - len(c.Raw),
		level:    c.Level,
	}, err
}

// Columns returns the columns of Line.
func (m *Match) Columns() record.Columns {
	if m.message == 0 {
		c, _ := record.Split(m.Line)
		return c
	}
	source := record.TimeLen + len(m.level.String()) + 2 // two TABs
	c := record.Columns{Level: m.level, Raw: m.Line[m.message:]}
	var attributes []byte
	if c.Source, attributes, _ = bytes.Cut(m.Line[source:m.message-1], []byte{'\t'}); len(attributes) > 1 {
		c.Attributes = attributes
	}
	return c
}

// Level is the record's level.
func (m *Match) Level() record.Level {
	if m.message == 0 {
		return m.Columns().Level
	}
	return m.level
}

// Source is the record's source inside the instance.
func (m *Match) Source() []byte { return m.Columns().Source }

// Attributes are the record's, in the form of package attributes; nil if there are none.
func (m *Match) Attributes() []byte { return m.Columns().Attributes }

// Message is the message as stored: a TAB follows each newline; see [record.AppendMessage].
func (m *Match) Message() []byte {
	if m.message == 0 {
		return m.Columns().Raw
	}
	return m.Line[m.message:]
}
