// Package segment reads and writes the immutable object that holds log
// records: zstd blocks, a place for a token filter, and a footer that says what
// each block holds. docs/format.md describes the bytes.
package segment

import (
	"context"
	"io"

	"logstow/blobnaming"
	"logstow/record"
)

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
	// BucketStart is the bucket's start in Unix seconds UTC, BucketWidth its width in seconds.
	BucketStart int64
	BucketWidth int64
	// BlockSize is the text size at which a block is closed; 0 is DefaultBlockSize.
	BlockSize int
}

// Writer encodes records into a segment. Not safe for concurrent use.
//
// A Writer compresses at most one block in the background; it holds that block
// and the one being filled, and the footer's numbers, nothing else.
type Writer struct{}

// NewWriter starts a segment in w.
func NewWriter(w io.Writer, opts Options) *Writer { panic("skeleton") }

// Append adds a record, copying it. An error is final: it is returned again by
// every later call.
func (w *Writer) Append(r record.Record) error { panic("skeleton") }

// Size is the number of bytes written so far plus an estimate of what the block
// being filled will take: what sealing by stored size goes by.
func (w *Writer) Size() int64 { panic("skeleton") }

// Close writes the last block and the footer and returns what the blob's
// metadata must say, with seq as its Seq. A segment without records is an error.
func (w *Writer) Close(seq int64) (blobnaming.Metadata, error) { panic("skeleton") }

// Footer is what a segment says of its blocks.
type Footer struct {
	blobnaming.Metadata
	Service                  string
	BucketStart, BucketWidth int64
	Sources                  []string
	Minutes                  []record.Minute
	Blocks                   []Block
	ReplacesBatches          []blobnaming.Batch
}

// Block says where a block is and what it holds.
type Block struct {
	// Offset and Stored are its place in the blob, Raw its decompressed size, in bytes.
	Offset, Stored, Raw int64
	// Records is the number of its records; Levels the same by level.
	Records uint64
	Levels  record.Counts
	// Start and End are the times of its first and last record, Unix nanoseconds UTC.
	Start, End int64
	// CRC is the CRC-32C of its stored bytes.
	CRC uint32
}

// A Range reads exactly n bytes of a blob from off on.
type Range func(ctx context.Context, off, n int64) ([]byte, error)

// ReadFooter reads and checks the footer of a segment of size bytes. footer is
// its offset where the caller knows it from metadata, or -1 to find it from the
// blob's tail. What is damaged is a [*CorruptError].
func ReadFooter(ctx context.Context, read Range, size, footer int64) (*Footer, error) {
	panic("skeleton")
}

// DecodeBlock checks stored against b and decompresses it, appending to dst.
// Safe for concurrent use. What is damaged is a [*CorruptError].
func DecodeBlock(dst, stored []byte, b Block) ([]byte, error) { panic("skeleton") }

// CorruptError names what is damaged in a segment.
type CorruptError struct {
	// Part is "block 3", "footer", "trailer", …; Offset its place in the blob.
	Part   string
	Offset int64
	Reason string
}

func (e *CorruptError) Error() string { panic("skeleton") }
