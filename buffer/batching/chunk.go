package batching

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"time"

	"logstow/blobnaming"
	"logstow/buffer/spool"
	"logstow/buffer/wal"
	"logstow/record"
	"logstow/record/attributes"
	"logstow/segment"
)

// Chunk is what an input appends at once: records of one service, and the positions of
// the input behind them. Either may be empty.
type Chunk struct {
	Service string
	// Class is the service's retention class.
	Class string
	// Parse is the parser of the messages, as in a segment's footer; "" is auto/1.
	Parse string
	// Read is when the records were read, in Unix nanoseconds: the time that late records
	// get. 0 is the current time.
	Read    int64
	Records []record.Record
	// Relayed, if set, is what is appended instead of Records.
	Relayed *Relayed
	// Positions are committed together with Records.
	Positions []wal.Position
}

// Relayed are blocks of a segment that another shipper sealed. They are appended as they are, whatever the age of their records and the
// number of open buckets. They must not change until they are appended.
type Relayed struct {
	// Instance is the instance of that shipper.
	Instance string
	// Start and Width are those of the segment's bucket, in Unix nanoseconds and nanoseconds. It contains the times of all records.
	Start, Width int64
	Blocks       []RelayedBlock
}

// RelayedBlock is a block and its records, as [segment.Decoder.DecodeRecords] returns them.
type RelayedBlock struct {
	Stored  []byte
	Records []record.Record
}

// count is the number of records.
func (r *Relayed) count() (n int) {
	for i := range r.Blocks {
		n += len(r.Blocks[i].Records)
	}
	return n
}

// check rejects what no buffer may have; the size is that of the stored blocks.
func (r *Relayed) check() (n spool.ChunkSize, err error) {
	if !blobnaming.ValidInstance(r.Instance) || r.Instance == blobnaming.OutputInstance {
		return n, fmt.Errorf("%q is not the instance of a shipper", r.Instance)
	}
	if !validTime(r.Start) || !blobnaming.ValidWidth(time.Duration(r.Width)) ||
		blobnaming.BucketStart(r.Start, time.Duration(r.Width)).UnixNano() != r.Start {
		return n, fmt.Errorf("%d ns from %d ns on are not a bucket", r.Width, r.Start)
	}
	for i, b := range r.Blocks {
		n.Total, n.Largest = n.Total+int64(len(b.Stored)), max(n.Largest, int64(len(b.Stored)))
		for j := range b.Records {
			if err := checkRecord(&b.Records[j]); err != nil {
				return n, fmt.Errorf("record %d of block %d: %w", j, i, err)
			}
			if t := b.Records[j].Time; t < r.Start || t-r.Start >= r.Width {
				return n, fmt.Errorf("record %d of block %d is not in the bucket", j, i)
			}
		}
	}
	if r.count() == 0 {
		return n, errors.New("blocks without records")
	}
	return n, nil
}

// recordOverhead is about how many bytes a record takes in a segment's text beside its source, attributes
// and message: time, level, separators.
const recordOverhead = 42

func textSize(r *record.Record) int64 {
	return int64(recordOverhead + len(r.Source) + len(r.Attributes) + len(r.Message))
}

// Check rejects a chunk that no segment can hold; it returns the size of the chunk's text.
func (c *Chunk) Check() (n spool.ChunkSize, err error) {
	if len(c.Records) == 0 && c.Relayed == nil {
		return n, nil
	}
	if !blobnaming.ValidService(c.Service) {
		return n, fmt.Errorf("%q is not a service name", c.Service)
	}
	if !blobnaming.ValidClass(c.Class) {
		return n, fmt.Errorf("%q is not a retention class", c.Class)
	}
	if !blobnaming.ValidParse(c.Parse) {
		return n, fmt.Errorf("%q is not a parser", c.Parse)
	}
	if !validTime(c.Read) {
		return n, fmt.Errorf("the time read, %d ns, is out of range", c.Read)
	}
	if c.Relayed != nil {
		return c.Relayed.check()
	}
	for i := range c.Records {
		r := &c.Records[i]
		if err := checkRecord(r); err != nil {
			return n, fmt.Errorf("record %d of source %q: %w", i, r.Source, err)
		}
		size := textSize(r)
		n.Total, n.Largest = n.Total+size, max(n.Largest, size)
	}
	return n, nil
}

func checkRecord(r *record.Record) error {
	if len(r.Message) > record.MaxSize {
		return fmt.Errorf("message of %d bytes, the limit is %d", len(r.Message), record.MaxSize)
	}
	if len(r.Message) > segment.MaxBlockRaw/2 {
		// Each newline takes a second byte in the text.
		lines := bytes.Count(r.Message, []byte{'\n'})
		if text := recordOverhead + record.MaxSource + len(r.Attributes) + len(r.Message) + lines; text > segment.MaxBlockRaw {
			return fmt.Errorf("message of %d bytes with %d newlines does not fit into a block", len(r.Message), lines)
		}
	}
	if len(r.Attributes) > 0 && !attributes.Valid(r.Attributes) {
		return errors.New("its attributes are not in their canonical form")
	}
	if int(r.Level) >= record.Levels {
		return fmt.Errorf("level %d is unknown", r.Level)
	}
	if !validTime(r.Time) {
		return fmt.Errorf("time %d ns is out of range", r.Time)
	}
	return nil
}

// validTime reports whether the bucket of t, in Unix nanoseconds, begins and ends in the
// range of int64 nanoseconds: the years 1678 to 2261.
func validTime(t int64) bool {
	const margin = 3 * int64(time.Hour)
	return t > math.MinInt64+margin && t < math.MaxInt64-margin
}
