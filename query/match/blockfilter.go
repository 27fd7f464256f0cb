package match

import (
	"logstow/columns"
	"logstow/message/parse"
	"logstow/record"
	"logstow/segment"
)

// Selected is the result of [ColumnScanner.Select]: the records of a block that columns do not reject.
type Selected struct {
	// Count is the number of selected records.
	Count int
	// Records has true for each selected record of the block; nil if all are selected. It is valid until the next
	// Select.
	Records []bool
	// Exact is set if every selected record matches. Otherwise the matches are a subset.
	Exact bool
}

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

// RecordMatcher reports whether a record of a service matches. parser finds the fields of message, which is as logged. Not
// safe for concurrent use.
type RecordMatcher interface {
	Matches(service, instance string, parser *parse.Parser, level record.Level, source, message []byte) bool
}

// BlockMatcher reports whether any record of a block of a service may match. Not safe for concurrent use.
type BlockMatcher interface {
	// MayMatch decides by the distinct values of columns. It is faster than AnyMatches and rejects fewer blocks.
	MayMatch(service string, b *segment.Block, cols Columns) bool
	// AnyMatches decides by the values of the selected records.
	AnyMatches(service string, b *segment.Block, sel Selected, cols Columns) bool
}
