package batching

import (
	"fmt"

	"logstow/buffer/spool"
	"logstow/record"
	"logstow/segment"
)

// A large chunk is encoded as blocks before it is appended. The log gets the blocks, which are much smaller than the
// records, and the batch gets the same bytes: nothing is compressed twice.

const (
	// minEncoded is the minimum size in bytes of the text of a chunk that is encoded as blocks: smaller blocks compress worse.
	minEncoded = segment.DefaultBlockSize / 2
	// maxEncoded is the maximum size: the blocks are in memory until all of them are appended.
	maxEncoded = 4 * segment.DefaultBlockSize
)

// encodedChunk are the records of a chunk as blocks of one bucket. A nil *encodedChunk means that the chunk is not encoded.
type encodedChunk struct {
	bucket bucket
	// instance is that of a relayed chunk, otherwise "".
	instance string
	blocks   []*segment.EncodedBlock
}

// relay makes the blocks of a relayed chunk those of a batch.
func relay(opts *Options, compressor *segment.Compressor, c *Chunk) (*encodedChunk, error) {
	e := &encodedChunk{bucket: bucket{c.Class, c.Parse, c.Relayed.Start, c.Relayed.Width}, instance: c.Relayed.Instance}
	for i, b := range c.Relayed.Blocks {
		block, err := compressor.RelayBlock(b.Stored, b.Records, e.instance, opts.NoFilter)
		if err != nil {
			return nil, fmt.Errorf("block %d: %w", i, err)
		}
		e.blocks = append(e.blocks, block)
	}
	return e, nil
}

// relayAgain makes blocks of relayed records that the log has.
func relayAgain(opts *Options, compressor *segment.Compressor, k bucket, instance string, records []record.Record) *encodedChunk {
	e := &encodedChunk{bucket: k, instance: instance}
	text := int64(0)
	for i := range records {
		text += textSize(&records[i])
	}
	for _, some := range split(records, text, max(1, text/segment.DefaultBlockSize)) {
		e.blocks = append(e.blocks, compressor.EncodeBlock(some, opts.NoFilter).Of(instance))
	}
	return e
}

// encodeChunk encodes a chunk as blocks. It returns nil if the chunk must be appended as records: the chunk is too small
// or too large, a record is too large, the records belong to several buckets, or the batches are too small for blocks.
func encodeChunk(opts *Options, compressor *segment.Compressor, c *Chunk, size spool.ChunkSize) *encodedChunk {
	text := size.Total
	if text < minEncoded || text > maxEncoded || size.Largest > minEncoded || opts.Spool == nil || opts.Columns != nil ||
		opts.FlushSize < segment.DefaultBlockSize || opts.limit() < 2*segment.DefaultBlockSize {
		return nil
	}
	first, last := timeRange(c.Records)
	k := bucketOf(first, c, opts.Width)
	if !k.holds(last) || opts.tooOld(first, c.Read) {
		return nil
	}
	e := &encodedChunk{bucket: k}
	for _, records := range split(c.Records, text, max(1, (text+minEncoded)/segment.DefaultBlockSize)) {
		e.blocks = append(e.blocks, compressor.EncodeBlock(records, opts.NoFilter))
	}
	return e
}

// timeRange returns the first and the last time of records.
func timeRange(records []record.Record) (first, last int64) {
	first, last = records[0].Time, records[0].Time
	for i := range records {
		first, last = min(first, records[i].Time), max(last, records[i].Time)
	}
	return first, last
}

// split splits records into at most the given number of pieces of about the same size. text is the size in bytes of the
// text of all records.
func split(records []record.Record, text, pieces int64) (all [][]record.Record) {
	size, from := int64(0), 0
	for i := range records {
		if size += textSize(&records[i]); size >= text/pieces || i == len(records)-1 {
			all = append(all, records[from:i+1])
			size, from = 0, i+1
		}
	}
	return all
}

// stored returns the bytes of each block.
func (e *encodedChunk) stored() (all [][]byte) {
	for _, b := range e.blocks {
		all = append(all, b.Stored())
	}
	return all
}
