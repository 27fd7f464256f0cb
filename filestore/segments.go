package filestore

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"time"

	"logstow/blobnaming"
	"logstow/internal/tempfile"
	"logstow/segment"
	"logstow/store"
)

// segments writes records as segments to a file.
type segments struct {
	file       *os.File
	dir        string // of the file, as of [tempfile.Create]
	compressor *segment.Compressor
	// parser is the parser of the records, as in metadata. No segment is open when it is changed.
	parser string
	// blobs are the segments written.
	blobs  []blob
	offset int64

	// writer is the writer of the open segment, of a service and the hour at start, to out; nil if none is open.
	writer  *segment.Writer
	service string
	hour    time.Time
	start   int64
	out     counter
	number  uint64
}

// blob is a segment in the file.
type blob struct {
	name         string
	meta         blobnaming.Metadata
	offset, size int64
}

// stored is the blob as a store lists it. Metadata as text take several times the memory, so they are made when needed.
func (b *blob) stored() store.Blob {
	return store.Blob{Name: b.name, Size: b.size, ETag: b.meta.Batch.String(), Metadata: b.meta.Encode()}
}

func newSegments(file *os.File, dir string) segments {
	return segments{file: file, dir: dir, compressor: segment.NewCompressor()}
}

// append appends a record, which is not before the last one unless end was called, to the segment of its hour.
func (s *segments) append(one entry) error {
	if s.writer != nil && (one.Time-s.start >= int64(time.Hour) || one.service != s.service) {
		if err := s.end(); err != nil {
			return err
		}
	}
	for {
		opened := s.writer == nil
		if opened {
			s.open(one.service, one.Time)
		}
		err := s.writer.Append(one.Record)
		switch {
		case err == nil:
			return nil
		case opened || !errors.Is(err, segment.ErrFull):
			s.writer.Discard()
			s.writer = nil
			return tempfile.WriteError(s.dir, err)
		}
		if err := s.end(); err != nil {
			return err
		}
	}
}

// open opens a segment of a service and the hour of t.
func (s *segments) open(service string, t int64) {
	s.service = service
	s.hour = blobnaming.BucketStart(t, time.Hour)
	s.start = s.hour.UnixNano()
	s.number = uint64(len(s.blobs) + 1)
	var salt [16]byte
	binary.BigEndian.PutUint64(salt[8:], s.number)
	s.out = counter{w: io.NewOffsetWriter(s.file, s.offset)}
	s.writer = segment.NewWriter(&s.out, segment.Options{
		Service: service, Instance: Instance, Salt: salt, BucketStart: s.hour.Unix(), BucketWidth: int64(time.Hour / time.Second),
		Parse: s.parser, NoFilter: true, Compressor: s.compressor,
	})
}

// end closes the open segment, if any.
func (s *segments) end() error {
	if s.writer == nil {
		return nil
	}
	meta, err := s.writer.Close(int64(s.number))
	s.writer = nil
	if err != nil {
		return tempfile.WriteError(s.dir, err)
	}
	meta.Instance = Instance // which the segments share
	name := blobnaming.Name{Service: s.service, Bucket: s.hour, Number: s.number}
	s.blobs = append(s.blobs, blob{name: name.String(), meta: meta, offset: s.offset, size: s.out.n})
	s.offset += s.out.n
	return nil
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
