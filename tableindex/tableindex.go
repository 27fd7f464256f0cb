// Package tableindex is the derived index: one table per day and class, one entity per segment,
// keys spread over partitions. The blobs are the source of truth; the index may lag and can be
// rebuilt.
//
// [Put] writes entities, [Range] reads them; [Tables], [Entities] and [Remove] are for maintenance.
// docs/format/index.md specifies tables, keys and properties for implementers of readers. The
// patterns are those of Azure's table design guide: a table per day, so that expiry is one drop;
// compound keys; the log tail pattern, an inverted time as row key; writes spread over partitions;
// entity group transactions.
// https://learn.microsoft.com/azure/storage/tables/table-storage-design-guide
package tableindex

import (
	"logstow/blobnaming"
	"logstow/record"
)

// Entity is the index entity of one segment.
type Entity struct {
	// Name is the segment's blob.
	Name blobnaming.Name
	// Meta is the blob's metadata. Its times are in the period of Name's bucket, and Start is not
	// before 1970.
	Meta blobnaming.Metadata
	// ETag is the blob's ETag as returned by storage.
	ETag string
	// Size is the stored size in bytes.
	Size int64
	// Minutes are the minutes that have records, in order; their counts sum to Meta.Levels. Empty
	// if unknown.
	Minutes []record.Minute
}
