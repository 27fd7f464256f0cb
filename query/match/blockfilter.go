package match

import (
	"logstow/columns"
	"logstow/message/parse"
	"logstow/query/rowset"
	"logstow/record"
	"logstow/segment"
)

// BlockFilter is a condition on the records of a block by their columns. It is safe for concurrent use.
type BlockFilter struct {
	// Names are the columns that the condition needs.
	Names []columns.Name
	// New makes a matcher for one goroutine.
	New func() BlockMatcher
}

// RecordFilter is a condition on records. It is safe for concurrent use.
type RecordFilter struct {
	// Instanced is set if the condition uses instances.
	Instanced bool
	// New makes a matcher for one goroutine.
	New func() RecordMatcher
}

// RecordMatcher reports whether a record of a service matches. parser finds the fields of message, which is as logged; f are its other
// columns. Not safe for concurrent use.
type RecordMatcher interface {
	Matches(service, instance string, parser *parse.Parser, f *record.Columns, message []byte) bool
}

// BlockMatcher reports whether any record of a block of a service may match. Not safe for concurrent use.
type BlockMatcher interface {
	// MayMatch decides by the distinct values of columns. It is faster than AnyMatches and rejects fewer blocks.
	MayMatch(service string, b *segment.Block, cols rowset.Columns) bool
	// AnyMatches decides by the values of the selected records.
	AnyMatches(service string, b *segment.Block, sel rowset.Selected, cols rowset.Columns) bool
}
