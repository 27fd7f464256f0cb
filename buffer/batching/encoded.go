package batching

import (
	"logstow/buffer/spool"
	"logstow/record"
	"logstow/segment"
)

// A large chunk is encoded as blocks before it is appended. The log gets the blocks, which are a fraction of the
// records, and the batch gets the same bytes: nothing is compressed twice.

const (
	// minEncoded is how many bytes of text a chunk must have to be encoded as blocks: smaller blocks would compress worse.
	minEncoded = segment.DefaultBlockSize / 2
	// maxEncoded is how many it may have: its blocks are in memory until all of them are appended.
	maxEncoded = 4 * segment.DefaultBlockSize
)

// encodedChunk are the records of a chunk as blocks of one bucket. nil is none.
type encodedChunk struct {
	bucket bucket
	blocks []*segment.EncodedBlock
}

// encodeChunk encodes a chunk of a size; nil if it is to be appended as records: it is small or too large, or a record
// is, its records go to several buckets, or batches are small.
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

// split splits records, with that many bytes of text, into pieces of about the same size. There may be fewer.
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

// stored are the bytes of the blocks.
func (e *encodedChunk) stored() (all [][]byte) {
	for _, b := range e.blocks {
		all = append(all, b.Stored())
	}
	return all
}
