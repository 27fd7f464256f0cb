// Package foreign reads records from foreign segments: lines of text that other programs stored under names like those of segments, plain
// or compressed with gzip or zstd.
//
// A line in the stored form of a record is that record, continuation lines included. A line of Azure Storage Analytics, version 1.0 or
// 2.0, becomes a JSON object of its fields by their documented names. Any other line is a message, whose time and level are recognized as
// in log files (package [logstow/record/recognize]). Empty lines are ignored.
package foreign

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"logstow/internal/decompress"
	"logstow/record"
	"logstow/record/recognize"
)

// ErrLine is wrapped by the error for a line that is skipped. The following lines are read.
var ErrLine = errors.New("line left out")

// readBuffer is the size of the buffer for lines; longer ones take more.
const readBuffer = 64 << 10

// Records yields the records of a text. A line without a time has the time of the previous line, initially start. A message is valid until
// the next record. After an error that does not wrap [ErrLine], the sequence ends.
//
// watch is called with each piece of decompressed text before its lines are read. If it returns an error, reading ends, even inside a
// record.
func Records(r io.Reader, start time.Time, watch func(text []byte) error) iter.Seq2[record.Record, error] {
	return func(yield func(record.Record, error) bool) {
		text, done, err := decompress.Reader(r)
		if err != nil {
			yield(record.Record{}, err)
			return
		}
		defer done()
		s := &scanner{
			lines:      bufio.NewReaderSize(watched{text, watch}, readBuffer),
			recognizer: recognize.New(recognize.Options{}),
			start:      start.UnixNano(),
			names:      fields(),
		}
		s.scan(yield)
	}
}

// watched calls watch with everything that is read.
type watched struct {
	text  io.Reader
	watch func(text []byte) error
}

func (w watched) Read(p []byte) (int, error) {
	n, err := w.text.Read(p)
	if n > 0 {
		if watchErr := w.watch(p[:n]); watchErr != nil {
			return 0, watchErr
		}
	}
	return n, err
}

// scanner makes records of lines.
type scanner struct {
	lines      *bufio.Reader
	recognizer *recognize.Recognizer
	start      int64
	long       []byte // scratch: a line longer than the buffer
	// stored is a record in stored form without its last newline; continuation lines may follow.
	stored []byte
	names  []string // the fields of Storage Analytics
	object []byte   // scratch: a line of Storage Analytics as an object
}

func (s *scanner) scan(yield func(record.Record, error) bool) {
	for {
		line, err := s.next()
		if err != nil && !errors.Is(err, ErrLine) {
			if s.flush(yield) && !errors.Is(err, io.EOF) {
				yield(record.Record{}, fmt.Errorf("read lines: %w", err))
			}
			return
		}
		if err == nil && len(s.stored) > 0 && len(line) > 0 && line[0] == '\t' {
			if len(s.stored)+len(line) < record.MaxSize {
				s.stored = append(append(s.stored, '\n'), line...)
				continue
			}
			err = fmt.Errorf("%w: a record of more than %d bytes", ErrLine, record.MaxSize)
		}
		if !s.flush(yield) {
			return
		}
		switch {
		case err != nil:
			if !yield(record.Record{}, err) {
				return
			}
		case len(line) == 0:
		case isStored(line):
			s.stored = append(s.stored, line...)
		case !yield(s.record(line), nil):
			return
		}
	}
}

// next returns the next line without its newline, valid until the next call. A line that is too long is [ErrLine].
func (s *scanner) next() ([]byte, error) {
	s.long = s.long[:0]
	tooLong := false
	for {
		part, err := s.lines.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !more && (!errors.Is(err, io.EOF) || len(part)+len(s.long) == 0 && !tooLong) {
			return nil, err
		}
		part = bytes.TrimSuffix(part, []byte("\n"))
		if !more && len(s.long) == 0 && !tooLong {
			return part, nil
		}
		if tooLong = tooLong || len(s.long)+len(part) > record.MaxSize; tooLong {
			s.long = nil // free the memory
		} else {
			s.long = append(s.long, part...)
		}
		if more {
			continue
		}
		if tooLong {
			return nil, fmt.Errorf("%w: it has more than %d bytes", ErrLine, record.MaxSize)
		}
		return s.long, nil
	}
}

// isStored reports whether a line is the first of a record in stored form.
func isStored(line []byte) bool {
	if len(line) <= record.TimeLen || line[record.TimeLen] != '\t' || line[record.TimeLen-1] != 'Z' {
		return false
	}
	_, rest, err := record.Next(append(bytes.Clone(line), '\n'))
	return err == nil && len(rest) == 0
}

// flush yields the record in stored, if any, and reports whether to continue.
func (s *scanner) flush(yield func(record.Record, error) bool) bool {
	if len(s.stored) == 0 {
		return true
	}
	s.stored = append(s.stored, '\n')
	line, _, err := record.Next(s.stored)
	r := record.Record{Time: line.Time, Level: line.Level, Source: string(line.Source), Message: record.AppendMessage(nil, line.Raw)}
	s.stored = s.stored[:0]
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrLine, err)
	}
	return yield(r, err)
}

// record converts a line to a record.
func (s *scanner) record(line []byte) record.Record {
	if r, ok := s.analytics(line); ok {
		return r
	}
	stamp := s.recognizer.Stamp(line, s.start, s.start)
	return record.Record{Time: stamp.Time, Level: stamp.Level, Source: "-", Message: line}
}
