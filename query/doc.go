// Package query answers from storage. It reads through the reading halves of
// the store's interfaces only.
//
// A [Query] is a [Selection] over some stores. [Query.Plan] lists the segments
// that may contain matches; [Query.Run] opens them in the order of time, fetches and
// searches the blocks that may match, and emits the records merged in one order:
// (time, instance, sequence of the segment, block, position), or its reverse.
//
// This package composes the layers below it, each of which calls only those after it:
//
//	stats     counts of records by their properties
//	merge     order, limits, records around matches
//	fetch     segments opened, blocks read, cached and searched
//	plan      segments found by listing or from the index
//	explain   why nothing was found
//	match     one compiled query
//	source    stores, segments, costs, the report
//
// A segment that cannot be read is a problem of the [Report], never the end
// of the query.
package query
