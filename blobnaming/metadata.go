package blobnaming

import "logstow/record"

// Version is the value of the LogVersion metadata key of segments of version 1.
const Version = "logstow/1"

// Metadata is what a segment's blob says of itself: written with the blob as
// its metadata, repeated in the segment's footer and in its index entity.
type Metadata struct {
	// Start and End are the times of the first and last record, Unix nanoseconds UTC.
	Start, End int64
	// Records is the number of records; RawBytes the size of their text form.
	Records, RawBytes uint64
	// Levels is the number of records of each level; it sums to Records.
	Levels record.Counts
	// Batch is the segment's identity: 128 random bits drawn at sealing.
	Batch Batch
	// Instance is the shipper that wrote it.
	Instance string
	// Seq increases in the order in which one buffer sealed.
	Seq int64
	// Class is the retention class, "" for the default.
	Class string
	// Footer is the offset of the footer's frame in the blob.
	Footer int64
	// Filter says where the token filter's slices are; the zero value is none.
	Filter Filter
	// Replaces is set when the footer lists batches that this segment contains.
	Replaces bool
}

// Filter locates a segment's token filter: Partitions slices of SliceLength
// bytes each, one after the other from Offset on.
type Filter struct {
	Offset, Partitions, SliceLength int64
}

// Batch identifies a sealed segment.
type Batch [16]byte
