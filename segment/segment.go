// Package segment reads and writes the immutable object that holds log
// records: zstd blocks, a place for a token filter, and a footer that says what
// each block holds. docs/format/segment.md describes the bytes.
//
// A [Writer] streams records into a segment. A reader calls [ReadFooter], picks
// [Block]s by time and level, reads their ranges and decodes each with a
// [Decoder]. [Verify] reads a whole segment and checks everything in it.
package segment

import "logstow/blobnaming"

// Limits that readers check before allocating anything.
const (
	// MaxBlockRaw is the decompressed size of a block in bytes.
	MaxBlockRaw = 17 << 20
	// MaxWindow is the zstd window in bytes.
	MaxWindow = 8 << 20
	// MaxFooter is the size of the encoded footer in bytes.
	MaxFooter = 4 << 20
	// MaxBlocks is the number of blocks in a segment.
	MaxBlocks = 4096
	// MaxSections is the number of sections between blocks and footer.
	MaxSections = 64
	// MaxSources is the number of sources that a footer lists; a segment of more lists ManySources alone.
	MaxSources = 1000
	// ManySources is what a footer lists in place of more than MaxSources sources.
	ManySources = "many"
	// DefaultBlockSize is the text size in bytes at which a block is closed.
	DefaultBlockSize = 1 << 20
)

// Options describe a segment before its first record.
type Options struct {
	Service  string
	Instance string
	Class    string
	Batch    blobnaming.Batch
	// BucketStart is the bucket's start in Unix seconds UTC, BucketWidth its width
	// in seconds: whole minutes inside one hour. Records outside it are refused.
	BucketStart int64
	BucketWidth int64
	// BlockSize is the text size in bytes at which a block is closed; 0 is
	// DefaultBlockSize. A larger record has a block of its own.
	BlockSize int
	// NoFilter leaves out the token filter. It adds about 5 to 8% to the stored size,
	// and 0.4 to 0.5 times the time of compression, in the same goroutine.
	NoFilter bool
	// Inputs make the segment an output of compaction of these segments, in the order of
	// [CompareOrigins]. Its bucket is an hour, its Instance [blobnaming.OutputInstance]. Their
	// sums are read by Close.
	Inputs []Origin
	// Compressor compresses the blocks; nil makes the Writer one of its own.
	// Sharing one among all Writers bounds the memory of compression.
	Compressor *Compressor
}
