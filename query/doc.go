// Package query answers from storage. It reads through the reading halves of
// the store's interfaces only.
//
// A [Query] is a [Selection] over some stores. [Query.Plan] lists the segments
// that may hold wanted records, pruned by what their metadata says;
// [Query.Run] opens them in the order of time, fetches and searches the blocks
// that may match, and hands out the records merged in one order:
// (time, instance, sequence of the segment, block, position), or its reverse.
//
//	plan -> open (footers) -> sweep (blocks by time) -> search -> merge
//
// Every step is lazy, so that a query that needs few records reads little, and
// bounded: blocks in work, records waiting to be merged. What waits beyond its
// bound goes through a temporary file.
//
// A segment that can not be read is a [Problem] of the [Report], never the end
// of the query. A segment stored twice is read once: segments whose Batch,
// times, number of records and length are all equal are copies, and when one
// copy is damaged another is read in its place. Segments of which only the
// Batch is equal are both read, and the report says so.
//
// Text that another program stored under a segment's name is read whole (package
// foreign); the records that match are kept as blocks for the step, in memory or
// a temporary file, and searched, ordered and counted as those of segments.
//
// Every request goes through a meter, which adds up what it costs and ends the
// query with [ErrBudget] before a limit of bytes or cost is passed.
package query
