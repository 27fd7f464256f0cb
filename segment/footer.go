package segment

import (
	"fmt"

	"logstow/blobnaming"
	"logstow/record"
)

// Footer describes a segment. Metadata.Footer is the offset at which the footer was found, Metadata.Batch the hash of the
// encoded footer; everything else is encoded in the footer.
type Footer struct {
	blobnaming.Metadata
	Service string
	// BucketStart is the bucket's start in Unix seconds UTC, BucketWidth its width in seconds.
	BucketStart, BucketWidth int64
	// Sources are the sources in byte order, or ManySources alone.
	Sources []string
	// Minutes are the minutes that have records, in order.
	Minutes []record.Minute
	// OnMinute are the numbers of records of each minute whose time is exactly its start; nil if there are none.
	OnMinute []record.Counts
	// Labels are the combinations of label attributes of the records, in the order of their text, then of their instance; nil if no record has
	// label attributes. Unlisted are the names of label attributes that have too many values to be in Labels, in order, or [AllUnlisted].
	Labels   []Labels
	Unlisted []string
	// Instances are the instances whose records a relay put into the segment, in byte order: the records of a block are those of one of
	// them. It is nil if all are those of Metadata.Instance, and in an output.
	Instances []string
	// Blocks are the blocks in the order of the blob, the first at offset 0.
	Blocks []Block
	// Sections follow the last block.
	Sections []Section
	// Columns is the offset of the directory of columns, ColumnsLength its length in bytes and
	// ColumnsHash its hash; all are 0 without columns.
	Columns, ColumnsLength int64
	ColumnsHash            Hash
	// OriginsLength and OriginsHash are the length in bytes and the hash of a compaction output's list of inputs,
	// which is at Metadata.Origins; 0 in a plain segment.
	OriginsLength int64
	OriginsHash   Hash
	// Salt is that of [Options].
	Salt [16]byte
}

// Block is the location and summary of a block.
type Block struct {
	// Index is its number in the segment, from 0.
	Index int
	// Offset and Stored are its place in the blob, Raw its decompressed size, in bytes.
	Offset, Stored, Raw int64
	// Records is the number of its records, Attributes that of those with attributes, Levels their number by level.
	Records, Attributes uint64
	Levels              record.Counts
	// Start and End are the times of its first and last record, Unix nanoseconds UTC.
	Start, End int64
	// Instance is the index of its instance in [Footer.Instances], 0 if that is nil.
	Instance int
	// Hash is the hash of its stored bytes.
	Hash Hash
}

// InstanceOf returns the instance of the records of a block of a plain segment.
func (f *Footer) InstanceOf(b Block) string {
	if f.Instances == nil {
		return f.Instance
	}
	return f.Instances[b.Instance]
}

// Corrupt returns a [*CorruptError] about the block.
func (b Block) Corrupt(format string, args ...any) error {
	return &CorruptError{Part: fmt.Sprintf("block %d", b.Index), Offset: b.Offset, Reason: fmt.Sprintf(format, args...)}
}

// Section is a skippable frame between the blocks and the footer. Readers ignore sections with
// unknown names.
type Section struct {
	Name string
	// Offset and Length are its location in the blob in bytes, including the frame's header.
	Offset, Length int64
	// Hash is the hash of its stored bytes.
	Hash Hash
}

func (s Section) corrupt(format string, args ...any) error {
	return &CorruptError{Part: "section " + s.Name, Offset: s.Offset, Reason: fmt.Sprintf(format, args...)}
}

// Check compares the footer with the blob's metadata or its index entity. A difference is a
// [*CorruptError] that names the first field; which of the two is wrong is unknown.
func (f *Footer) Check(m blobnaming.Metadata) error {
	for _, c := range []struct {
		field string
		same  bool
	}{
		{"Footer", f.Footer == m.Footer},
		{"Batch", f.Batch == m.Batch},
		{"StartTime", f.Start == m.Start},
		{"EndTime", f.End == m.End},
		{"Records", f.Records == m.Records},
		{"RawBytes", f.RawBytes == m.RawBytes},
		{"Levels", f.Levels == m.Levels},
		{"Instance", f.Instance == m.Instance},
		{"Seq", f.Seq == m.Seq},
		{"Class", f.Class == m.Class},
		{"Parse", f.Parse == m.Parse},
		{"Filter", f.Filter == m.Filter},
		{"Origins", f.Origins == m.Origins},
		{"Labels", f.Metadata.Labels == m.Labels},
		{"Instances", f.Metadata.Instances == m.Instances},
		// Fields of later versions are compared too.
		{"metadata", f.Metadata == m},
	} {
		if !c.same {
			return &CorruptError{Part: "metadata", Offset: f.Footer, Reason: c.field + " differs from the footer's"}
		}
	}
	return nil
}
