// Package segment reads and writes the immutable object that contains log records: zstd blocks,
// sections for a token filter and for columns, and a footer that describes the blocks. docs/format/segment.md
// specifies the bytes.
//
// A [Writer] streams records into a segment. A reader calls [ReadFooter], selects [Block]s by time
// and level, reads their ranges and decodes each with a [Decoder]. [Verify] reads and verifies a
// whole segment.
package segment

import (
	"logstow/blobnaming"
	"logstow/columns"
)

// Limits that readers check before allocating anything.
const (
	// MaxBlockRaw is the maximum decompressed size of a block in bytes.
	MaxBlockRaw = blobnaming.MaxBlockRaw
	// MaxWindow is the maximum zstd window in bytes.
	MaxWindow = 8 << 20
	// MaxFooter is the maximum size of the encoded footer in bytes.
	MaxFooter = 4 << 20
	// MaxBlocks is the maximum number of blocks in a segment.
	MaxBlocks = blobnaming.MaxBlocks
	// MaxSections is the maximum number of sections between blocks and footer.
	MaxSections = 64
	// MaxSources is the maximum number of sources that a footer lists.
	MaxSources = 1000
	// ManySources is listed alone if there are more than MaxSources sources.
	ManySources = "many"
	// DefaultBlockSize is the text size in bytes at which a block is closed.
	DefaultBlockSize = 1 << 20
)

// Options describe a segment before its first record.
type Options struct {
	Service  string
	Instance string
	Class    string
	// Parse is the parser of the messages, as in [blobnaming.Metadata].
	Parse string
	// Salt is 16 random bytes, without which segments of the same records would have the same Batch. An output has none:
	// the same inputs give the same bytes and Batch.
	Salt [16]byte
	// BucketStart is the bucket's start in Unix seconds UTC, BucketWidth its width in seconds:
	// whole minutes inside one hour; of an output a UTC day. Records outside are rejected.
	BucketStart int64
	BucketWidth int64
	// BlockSize is the text size in bytes at which a block is closed; 0 is DefaultBlockSize. A larger record gets a
	// block of its own.
	BlockSize int
	// NoFilter omits the token filter. The filter adds 5 to 8% to the stored size, and 20 to 35% to the CPU time of
	// compression, in the same goroutine.
	NoFilter bool
	// Columns determine the columns that the segment gets; nil is none. They add at most 5% to the stored size (15% with
	// named columns), and 20% (text without fields) to 100% (JSON, access logs) to the CPU time of compression, in the
	// same goroutine.
	Columns *columns.Options
	// Inputs make the segment a compaction output of these segments, which are in the order of [CompareOrigins]. The
	// bucket must be a UTC day, the Instance [blobnaming.OutputInstance]. The Sum of each input may be set until Close.
	Inputs []Origin
	// Parts are the parts of the inputs, by [PartsOf]; nil if each has one.
	Parts []Part
	// Compressor compresses the blocks; nil makes one for this Writer. Writers that share one bound the memory of
	// compression.
	Compressor *Compressor
}
