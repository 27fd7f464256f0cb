package filestore

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"

	"logstow/internal/heap"
	"logstow/internal/tempfile"
	"logstow/record"
)

const (
	// spillBuffer is the buffer of each run that is read back.
	spillBuffer = 16 << 10
	// spillHead is the size of the header of a record in a run: time, level, source, length of the message.
	spillHead = 17
)

// spillFile is a temporary file of runs of records, each in the order of time.
type spillFile struct {
	dir  string
	file *os.File // nil until the first run
	size int64
	// runs are the ends of the runs in the file.
	runs []int64
	// sources are the sources of the records, numbers has their indexes.
	sources []string
	numbers map[string]uint32
}

// number is the number of a source in the file.
func (s *spillFile) number(source string) uint32 {
	n, ok := s.numbers[source]
	if !ok {
		if s.numbers == nil {
			s.numbers = map[string]uint32{}
		}
		n = uint32(len(s.sources))
		s.numbers[source] = n
		s.sources = append(s.sources, source)
	}
	return n
}

// write appends a run.
func (s *spillFile) write(records []record.Record) (err error) {
	if s.file == nil {
		if s.file, err = tempfile.Create(s.dir); err != nil {
			return err
		}
	}
	w := bufio.NewWriterSize(io.NewOffsetWriter(s.file, s.size), 256<<10)
	var head [spillHead]byte
	for i := range records {
		r := &records[i]
		binary.LittleEndian.PutUint64(head[0:], uint64(r.Time))
		head[8] = byte(r.Level)
		binary.LittleEndian.PutUint32(head[9:], s.number(r.Source))
		binary.LittleEndian.PutUint32(head[13:], uint32(len(r.Message)))
		_, _ = w.Write(head[:]) // Flush has the error
		_, _ = w.Write(r.Message)
		s.size += int64(len(head) + len(r.Message))
	}
	if err := w.Flush(); err != nil {
		return errTemp("write", err)
	}
	s.runs = append(s.runs, s.size)
	return nil
}

// merge calls put with the records of all runs in order of time, then of writing, and removes the runs. A record is valid
// until put returns.
func (s *spillFile) merge(put func(record.Record) error) error {
	if len(s.runs) == 0 {
		return nil
	}
	h := heap.Heap[*spillRun]{Before: (*spillRun).before}
	var start int64
	for i, end := range s.runs {
		run := &spillRun{file: s, index: i, r: bufio.NewReaderSize(io.NewSectionReader(s.file, start, end-start), spillBuffer)}
		start = end
		more, err := run.next()
		if err != nil {
			return err
		}
		if more {
			h.Push(run)
		}
	}
	for len(h.Items) > 0 {
		first := h.Items[0]
		if err := put(first.at); err != nil {
			return err
		}
		more, err := first.next()
		switch {
		case err != nil:
			return err
		case more:
			h.Fix()
		default:
			h.Pop()
		}
	}
	s.size, s.runs = 0, nil
	if err := s.file.Truncate(0); err != nil {
		return errTemp("truncate", err)
	}
	return nil
}

func (s *spillFile) close() error {
	if s.file == nil {
		return nil
	}
	return tempfile.Remove(s.file)
}

// spillRun reads a run back.
type spillRun struct {
	file  *spillFile
	index int
	r     *bufio.Reader
	at    record.Record
}

// next reads the next record; it returns false at the end.
func (r *spillRun) next() (bool, error) {
	var head [spillHead]byte
	if _, err := io.ReadFull(r.r, head[:]); err == io.EOF {
		return false, nil
	} else if err != nil {
		return false, errTemp("read", err)
	}
	n := int(binary.LittleEndian.Uint32(head[13:]))
	message := r.at.Message[:0]
	if cap(message) < n {
		message = make([]byte, n)
	}
	r.at = record.Record{
		Time:    int64(binary.LittleEndian.Uint64(head[0:])),
		Level:   record.Level(head[8]),
		Source:  r.file.sources[binary.LittleEndian.Uint32(head[9:])],
		Message: message[:n],
	}
	if _, err := io.ReadFull(r.r, r.at.Message); err != nil {
		return false, errTemp("read", err)
	}
	return true, nil
}

// before orders runs by their current record: by time, then by run.
func (r *spillRun) before(o *spillRun) bool {
	if r.at.Time != o.at.Time {
		return r.at.Time < o.at.Time
	}
	return r.index < o.index
}
