package buffer

import (
	"bytes"
	"crypto/rand"
	"time"

	"logstow/blobnaming"
	"logstow/buffer/wal"
	"logstow/record"
	"logstow/segment"
)

const (
	// overhead is about what an open or waiting batch takes beside its text and
	// its body: counts by minute, the least buffers.
	batchOverhead = 8 << 10
	// bucketGrace is how long after its end a bucket takes records that are just a little late.
	bucketGrace = 2 * time.Second
)

// bucket is what a batch holds one of, within a service. The width belongs to
// it because it may be configured anew while records of the old width wait.
type bucket struct {
	class string
	// start and width are in Unix nanoseconds.
	start, width int64
}

func bucketOf(t int64, class string, width time.Duration) bucket {
	return bucket{class, blobnaming.BucketStart(t, width).UnixNano(), int64(width)}
}

func (k bucket) holds(t int64) bool {
	return t >= k.start && t-k.start < k.width
}

// openBatch still takes records. Its partition's lock guards it, except as noted.
type openBatch struct {
	partition *partition
	bucket    bucket
	writer    *segment.Writer
	body      *body
	// text is the size of the records' text, largest that of the largest record.
	text, largest int64
	// first is when the first record was appended, due when age or bucket end
	// seals the batch; zero is never. Both are set at opening.
	first, due time.Time
	// from and through are the numbers of its first and last record.
	from, through uint64
	// seq and seal are set when the batch stops taking records.
	seq    int64
	ticket *sealTicket

	// charged is what the batch counts against Options.Memory, used the tick of
	// its last use. The Buffer's lock guards both.
	charged int64
	used    uint64
}

func newOpenBatch(p *partition, k bucket, number uint64) (*openBatch, error) {
	opts := &p.buf.opts
	// The id is drawn here and written nowhere before the batch is sealed, so a
	// batch that never gets there leaves no trace of it.
	id, err := blobnaming.NewBatch(rand.Reader)
	if err != nil {
		return nil, err
	}
	o := &openBatch{partition: p, bucket: k, body: new(body), from: number, first: opts.Now()}
	o.due = dueTime(k, o.first, opts)
	o.writer = segment.NewWriter(o.body, segment.Options{
		Service:     p.service,
		Instance:    opts.Instance,
		Class:       k.class,
		Batch:       id,
		BucketStart: k.start / int64(time.Second),
		BucketWidth: k.width / int64(time.Second),
		NoFilter:    opts.NoFilter,
		Compressor:  p.buf.compressor,
	})
	return o, nil
}

// dueTime is when a batch opened at first is to be sealed: by age, or soon after
// its bucket has ended. One that is opened after that holds late records and
// lives by age alone.
func dueTime(k bucket, first time.Time, opts *Options) time.Time {
	if opts.Once {
		return time.Time{}
	}
	var due time.Time
	if opts.FlushInterval > 0 {
		due = first.Add(opts.FlushInterval)
	}
	end := time.Unix(0, k.start).Add(time.Duration(k.width) + bucketGrace)
	if end.After(first) && (due.IsZero() || end.Before(due)) {
		due = end
	}
	return due
}

func (o *openBatch) append(r record.Record) error {
	n := textSize(&r)
	o.text += n
	o.largest = max(o.largest, n)
	return o.writer.Append(r)
}

func (o *openBatch) full(flushSize int64) bool {
	return o.writer.Size() >= flushSize || o.writer.Full()
}

// cost is about what the batch takes in memory: what is compressed, the block
// being filled, whose buffer doubles as it grows, and the places of its records. A
// block being compressed is not counted: it is gone within milliseconds.
func (o *openBatch) cost() int64 {
	block := max(segment.DefaultBlockSize, o.largest)
	text := min(o.text, block)
	return o.writer.Size() + min(2*text, block) + text/4 + batchOverhead
}

// key is what the batch holds the records of.
func (o *openBatch) key() wal.Key {
	return wal.Key{Service: o.partition.service, Class: o.bucket.class, Start: o.bucket.start, Width: o.bucket.width}
}

// body collects what a segment.Writer writes. It grows by parts, so that it
// never takes more than it holds.
type body struct {
	parts [][]byte
	size  int64
}

func (b *body) Write(p []byte) (int, error) {
	b.parts = append(b.parts, bytes.Clone(p))
	b.size += int64(len(p))
	return len(p), nil
}

// join is all that was written, in one piece.
func (b *body) join() []byte {
	if len(b.parts) == 1 {
		return b.parts[0]
	}
	return bytes.Join(b.parts, nil)
}
