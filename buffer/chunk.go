package buffer

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"logstow/blobnaming"
	"logstow/record"
	"logstow/segment"
)

// Chunk is what an input hands over at once: the records of one service, and
// how far the input was read with them. Either may be empty.
type Chunk struct {
	Service string
	// Class is the service's retention class.
	Class string
	// Read is when the records were read, Unix nanoseconds: the time of those that
	// the bound on open buckets refuses. 0 is the clock's.
	Read    int64
	Records []record.Record
	// Positions are committed together with Records.
	Positions []Position
}

// Position is how far an input was read: opaque bytes of the input's own. An
// empty Value forgets the input.
type Position struct {
	Input string
	Value []byte
}

// Mark stands for all that was appended up to a call of Append.
type LSN uint64

// columns is about what a record takes in a segment's text beside its source
// and message: time, level, separators.
const recordOverhead = 40

func textSize(r *record.Record) int64 {
	return int64(recordOverhead + len(r.Source) + len(r.Message))
}

// check refuses what no segment can hold, before any of it is taken; it returns
// what taking the chunk takes.
func (c *Chunk) check() (n chunkSize, err error) {
	if len(c.Records) == 0 {
		return n, nil
	}
	if !blobnaming.ValidService(c.Service) {
		return n, fmt.Errorf("%q is not a service name", c.Service)
	}
	if !blobnaming.ValidClass(c.Class) {
		return n, fmt.Errorf("%q is not a retention class", c.Class)
	}
	if !validTime(c.Read) {
		return n, fmt.Errorf("the time read, %d ns, is out of range", c.Read)
	}
	for i := range c.Records {
		r := &c.Records[i]
		if err := checkRecord(r); err != nil {
			return n, fmt.Errorf("record %d of source %q: %w", i, r.Source, err)
		}
		size := textSize(r)
		n.total, n.largest = n.total+size, max(n.largest, size)
	}
	return n, nil
}

func checkRecord(r *record.Record) error {
	if len(r.Message) > record.MaxSize {
		return fmt.Errorf("%d bytes, the limit is %d: cut it first", len(r.Message), record.MaxSize)
	}
	if len(r.Message) > segment.MaxBlockRaw/2 {
		// Each newline takes a second byte in the text.
		lines := bytes.Count(r.Message, []byte{'\n'})
		if text := recordOverhead + record.MaxSource + len(r.Message) + lines; text > segment.MaxBlockRaw {
			return fmt.Errorf("%d bytes with %d newlines do not fit into a block: cut it first", len(r.Message), lines)
		}
	}
	if int(r.Level) >= record.Levels {
		return fmt.Errorf("level %d is not in the vocabulary", r.Level)
	}
	if !validTime(r.Time) {
		return fmt.Errorf("time %d ns is out of range", r.Time)
	}
	return nil
}

// validTime reports whether the bucket around t, in Unix nanoseconds, begins and
// ends within what nanoseconds can say: the years 1678 to 2261.
func validTime(t int64) bool {
	const margin = 3 * int64(time.Hour)
	return t > math.MinInt64+margin && t < math.MaxInt64-margin
}
