package match

import (
	"logstow/columns"
	"logstow/field/parse"
	"logstow/record"
	"logstow/segment"
)

// Selected are the records of a block that match as far as columns have the fields of the conditions.
type Selected struct {
	// Count is the number of selected records.
	Count int
	// Records is set for each selected record of the block; nil if all are. It is valid until the next
	// Select.
	Records []bool
	// Exact is set if these are all that match. Otherwise others do not match, and of these some may not.
	Exact bool
}

// BlockFilter is a condition on the records of a block by their columns. It is safe for concurrent use.
type BlockFilter struct {
	// Names are the columns that it needs.
	Names []columns.Name
	// New makes a matcher for one goroutine.
	New func() BlockMatcher
}

// RecordFilter is a condition on records. It is safe for concurrent use.
type RecordFilter struct {
	// Instanced is set if it uses instances.
	Instanced bool
	// New makes a matcher for one goroutine.
	New func() RecordMatcher
}

// RecordMatcher reports whether a record of a service matches, for one goroutine. The parser is that of its fields, the message is as
// logged.
type RecordMatcher interface {
	Matches(service, instance string, parser *parse.Parser, level record.Level, source, message []byte) bool
}

// BlockMatcher reports whether a record of a block of a service may match, for one goroutine.
type BlockMatcher interface {
	// MayMatch decides it by the different values of columns. It is quick, and rejects fewer blocks than AnyMatches.
	MayMatch(service string, b *segment.Block, cols Columns) bool
	// AnyMatches decides it by those of the records that are selected.
	AnyMatches(service string, b *segment.Block, sel Selected, cols Columns) bool
}
