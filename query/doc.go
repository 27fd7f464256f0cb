// Package query answers queries from storage, through read-only interfaces of the stores.
//
// A [Query] is a [Selection] over some stores. [Query.Plan] lists the segments that may contain matches. [Query.Run] opens them
// in order of time, fetches and searches the blocks that may match, and emits the records in one order: (time, instance,
// sequence of the segment, block, position), or its reverse.
//
// This package composes the layers below. Each layer calls only those after it:
//
//	stats     counts of records by their properties
//	merge     order, limits, records around matches
//	fetch     segments opened, blocks read, cached and searched
//	plan      segments found by listing or from the index
//	explain   why nothing was found
//	match     one compiled query
//	source    stores, segments, costs, the report
//
// A segment that cannot be read is a problem in the [Report]; it never ends the query.
package query
