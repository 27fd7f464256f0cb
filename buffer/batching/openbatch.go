package batching

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
	// batchOverhead is about how many bytes an open or waiting batch takes in memory beside its
	// text and body: writer, counts by minute, minimal buffers.
	batchOverhead = 3<<10 + 128
	// maxText is about the maximum size in bytes of a batch's text: a crash then costs a few seconds of replay.
	maxText = 512 << 20
	// LargeText is the size in bytes of the text from which a batch is sealed at FlushInterval, not at MaxFlushInterval.
	LargeText = 1 << 20
	// bucketGrace is how long after its end a bucket stays open for records that are slightly late.
	bucketGrace = 2 * time.Second
)

// bucket identifies a batch within a service: a batch holds the records of one bucket, class and
// parser. The width is a part of it because the configured width may change while records with
// the old width wait.
type bucket struct {
	class, parse string
	// start and width are in Unix nanoseconds.
	start, width int64
}

func bucketOf(t int64, c *Chunk, width time.Duration) bucket {
	return bucket{c.Class, c.Parse, blobnaming.BucketStart(t, width).UnixNano(), int64(width)}
}

func (k bucket) holds(t int64) bool {
	return t >= k.start && t-k.start < k.width
}

// openBatch is a batch that accepts records. Its partition's lock guards it, except as noted.
type openBatch struct {
	service string
	bucket  bucket
	writer  *segment.Writer
	body    *body
	// text is the size in bytes of the records' text, largest that of the largest record.
	text, largest int64
	// first is when the first record was appended, set when the batch is opened.
	first time.Time
	// from and through are the numbers of its first and last record in the log.
	from, through uint64
	// instances are those of relayed blocks; nil if there are none.
	instances map[string]struct{}
	// seq and ticket are set when the batch is detached.
	seq    int64
	ticket *sealTicket

	// due is when the batch is sealed by age or bucket end, zero means never; large is set from LargeText on; charged is how many bytes of
	// Options.Memory it is charged, used the tick of its last use, index its index in its heap. The lock of
	// the openSet guards them.
	due     time.Time
	large   bool
	charged int64
	used    uint64
	index   int
}

func newOpenBatch(opts *Options, compressor *segment.Compressor, service string, k bucket, number uint64) *openBatch {
	var salt [16]byte
	_, _ = rand.Read(salt[:]) // never fails
	o := &openBatch{service: service, bucket: k, body: new(body), from: number, first: opts.Now()}
	o.writer = segment.NewWriter(o.body, segment.Options{
		Service:     service,
		Instance:    opts.Instance,
		Class:       k.class,
		Parse:       k.parse,
		Salt:        salt,
		BucketStart: k.start / int64(time.Second),
		BucketWidth: k.width / int64(time.Second),
		NoFilter:    opts.NoFilter,
		Columns:     opts.Columns,
		Compressor:  compressor,
	})
	return o
}

// dueTime returns when a batch opened at first is sealed: by age, or bucketGrace after its
// bucket's end if that is earlier. A batch opened after its bucket's end is sealed by age alone.
func dueTime(k bucket, first time.Time, flushInterval time.Duration) time.Time {
	var due time.Time
	if flushInterval > 0 {
		due = first.Add(flushInterval)
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

// appendBlock appends a block, which is relayed if instance is not "".
func (o *openBatch) appendBlock(b *segment.EncodedBlock, instance string) error {
	o.text += b.Raw()
	if instance != "" {
		if o.instances == nil {
			o.instances = make(map[string]struct{})
		}
		o.instances[instance] = struct{}{}
	}
	return o.writer.AppendBlock(b)
}

// full reports whether the batch is to be sealed by its size.
func (o *openBatch) full(flushSize int64) bool {
	const own = 1 // the buffer's instance
	return o.writer.Size() >= flushSize || o.text >= maxText || o.writer.Full() || len(o.instances)+own >= blobnaming.MaxInstances
}

// cost returns about how many bytes the batch takes in memory: its compressed blocks, the block
// being filled, whose buffer doubles as it grows, and the offsets of its records. A block
// being compressed is not counted: that takes milliseconds.
func (o *openBatch) cost() int64 {
	block := max(segment.DefaultBlockSize, o.largest)
	text := min(o.text, block)
	return o.writer.Size() + min(2*text, block) + text/4 + batchOverhead
}

// key is the key of the batch's records in the log.
func (o *openBatch) key() wal.Key {
	return wal.Key{Service: o.service, Class: o.bucket.class, Parse: o.bucket.parse, Start: o.bucket.start, Width: o.bucket.width}
}

// body collects what a segment.Writer writes. It keeps the parts as they come, so that it
// never allocates more than it holds.
type body struct {
	parts [][]byte
	size  int64
}

func (b *body) Write(p []byte) (int, error) {
	b.parts = append(b.parts, bytes.Clone(p))
	b.size += int64(len(p))
	return len(p), nil
}

// join returns all parts as one slice.
func (b *body) join() []byte {
	if len(b.parts) == 1 {
		return b.parts[0]
	}
	return bytes.Join(b.parts, nil)
}
