package filestore

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"logstow/blobnaming"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
)

const (
	// defaultRunSize is the number of bytes of a run.
	defaultRunSize = 16 << 20
	// recordOverhead is about what a record takes beside its message.
	recordOverhead = 96
	// instance is that of all records.
	instance = "-"
)

// runs writes records as segments to a file: gathered to runs, each in the order of time.
type runs struct {
	file  *os.File
	limit int
	// records are those of the current run, messages their messages, size about the memory of both.
	records  []record.Record
	messages []byte
	size     int
	// blobs are the segments written, in order of name.
	blobs      []blob
	offset     int64
	compressor *segment.Compressor
}

// blob is a segment in the file.
type blob struct {
	store.Blob
	offset int64
}

func newRuns(file *os.File, limit int) *runs {
	return &runs{file: file, limit: cmp.Or(limit, defaultRunSize), compressor: segment.NewCompressor()}
}

// add adds a record to the run, copying it.
func (r *runs) add(one *record.Record) error {
	if n := len(one.Message) + recordOverhead; len(r.records) > 0 && r.size+n > r.limit {
		if err := r.flush(); err != nil {
			return err
		}
	}
	start := len(r.messages)
	r.messages = append(r.messages, one.Message...)
	r.size += len(one.Message) + recordOverhead
	r.records = append(r.records, record.Record{Time: one.Time, Level: one.Level, Source: one.Source, Message: r.messages[start:len(r.messages):len(r.messages)]})
	return nil
}

// flush writes the run, a segment for each hour.
func (r *runs) flush() error {
	slices.SortStableFunc(r.records, func(a, b record.Record) int { return cmp.Compare(a.Time, b.Time) })
	for rest := r.records; len(rest) > 0; {
		hour := blobnaming.BucketStart(rest[0].Time, time.Hour)
		n := slices.IndexFunc(rest, func(one record.Record) bool { return !blobnaming.BucketStart(one.Time, time.Hour).Equal(hour) })
		if n < 0 {
			n = len(rest)
		}
		written, err := r.write(hour, rest[:n])
		if err != nil {
			return err
		}
		rest = rest[written:]
	}
	slices.SortFunc(r.blobs, func(a, b blob) int { return strings.Compare(a.Name, b.Name) })
	r.records, r.messages, r.size = r.records[:0], r.messages[:0], 0
	return nil
}

// write writes records of an hour as a segment, and returns how many fit.
func (r *runs) write(hour time.Time, records []record.Record) (n int, err error) {
	number := len(r.blobs) + 1
	name := blobnaming.Name{Service: Service, Bucket: hour, Number: uint64(number)}
	var batch blobnaming.Batch
	binary.BigEndian.PutUint64(batch[8:], uint64(number))
	out := &counter{w: io.NewOffsetWriter(r.file, r.offset)}
	w := segment.NewWriter(out, segment.Options{
		Service: Service, Instance: instance, Batch: batch, BucketStart: hour.Unix(), BucketWidth: int64(time.Hour / time.Second),
		NoFilter: true, Compressor: r.compressor,
	})
	for n < len(records) && err == nil {
		if err = w.Append(records[n]); err == nil {
			n++
		}
	}
	if err != nil && (n == 0 || !errors.Is(err, segment.ErrFull)) {
		w.Discard()
		return 0, fmt.Errorf("cannot write temporary segment: %w", err)
	}
	meta, err := w.Close(int64(number))
	if err != nil {
		return 0, fmt.Errorf("cannot write temporary segment: %w", err)
	}
	r.blobs = append(r.blobs, blob{store.Blob{Name: name.String(), Size: out.n, ETag: batch.String(), Metadata: meta.Encode()}, r.offset})
	r.offset += out.n
	return n, nil
}

// counter counts the bytes that it writes.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
