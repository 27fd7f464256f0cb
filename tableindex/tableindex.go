// Package tableindex keeps the derived index: one table a day and class, one
// entity a segment, keys spread over partitions. The blobs are the truth; the
// index may lag and can be rebuilt.
//
// [Put] writes rows, [Range] reads them; [Tables], [Rows] and [Remove] are for those
// who keep the index in order. docs/format/index.md describes tables,
// keys and properties for people who write a reader. The patterns are those of
// Azure's table design guide: a table for each day, so that expiry is one drop;
// compound keys; the log tail, an inverted time as row key; writes spread over
// partitions; entity group transactions.
// https://learn.microsoft.com/azure/storage/tables/table-storage-design-guide
package tableindex

import (
	"logstow/blobnaming"
	"logstow/record"
)

// Entity is what the index says of one segment.
type Entity struct {
	// Name is the segment's blob.
	Name blobnaming.Name
	// Meta is what the blob's metadata says. Its times lie in the hour of Name's
	// bucket, and Start is not before 1970.
	Meta blobnaming.Metadata
	// ETag is the blob's ETag as storage gave it.
	ETag string
	// Size is the stored size in bytes.
	Size int64
	// Minutes are the minutes that have records, in order; their counts sum to
	// Meta.Levels. None: not known.
	Minutes []record.Minute
}
