package merge

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"logstow/query/source"

	"logstow/internal/tempfile"
)

const (
	// runBuffer is the size of the read buffer of each run.
	runBuffer = 16 << 10
	// headSize is the size of the header of a record in a run: time, origin, block, length.
	headSize = 20
)

// spillFile is a temporary file of sorted runs of records.
type spillFile struct {
	dir  string
	file *os.File // nil until the first run
	size int64
	// text has the record that was read last.
	text []byte
	// origins are the origins of the records; numbers has their indexes.
	origins []*source.Segment
	numbers map[*source.Segment]uint32
}

// number returns the index of a segment in origins, to which it is added if it is new.
func (s *spillFile) number(origin *source.Segment) uint32 {
	n, ok := s.numbers[origin]
	if !ok {
		if s.numbers == nil {
			s.numbers = make(map[*source.Segment]uint32)
		}
		n = uint32(len(s.origins))
		s.numbers[origin] = n
		s.origins = append(s.origins, origin)
	}
	return n
}

// write appends a run and returns a cursor at its start.
func (s *spillFile) write(fill func(put func(key, cursor) error) error) (cursor, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	start := s.size
	w := bufio.NewWriterSize(s.file, 256<<10)
	var head [headSize]byte
	err := fill(func(k key, c cursor) error {
		match, err := c.match()
		if err != nil {
			return err
		}
		line := match.Line
		binary.LittleEndian.PutUint64(head[0:], uint64(k.time))
		binary.LittleEndian.PutUint32(head[8:], s.number(k.origin))
		binary.LittleEndian.PutUint32(head[12:], uint32(k.block))
		binary.LittleEndian.PutUint32(head[16:], uint32(len(line)))
		s.size += int64(headSize + len(line))
		if _, err := w.Write(head[:]); err != nil {
			return err
		}
		_, err = w.Write(line)
		return err
	})
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write temporary file in %s: %w", s.dir, err)
	}
	c := &runCursor{spill: s, r: bufio.NewReaderSize(io.NewSectionReader(s.file, start, s.size-start), runBuffer)}
	_, err = c.next()
	return c, err
}

func (s *spillFile) open() (err error) {
	if s.file != nil {
		return nil
	}
	s.file, err = tempfile.Create(s.dir)
	return err
}

func (s *spillFile) close() error {
	if s.file == nil {
		return nil
	}
	return tempfile.Remove(s.file)
}

// runCursor iterates over the records of a run. It keeps only their keys in memory, because there may be many runs, and records may be
// large.
type runCursor struct {
	spill *spillFile
	r     *bufio.Reader
	at    key
	// unread is the number of bytes of the current record that have not been read.
	unread int
}

func (c *runCursor) key() key { return c.at }

// match reads the current record. It must be called once for each.
func (c *runCursor) match() (Match, error) {
	s := c.spill
	s.text = slices.Grow(s.text[:0], c.unread)[:c.unread]
	if _, err := io.ReadFull(c.r, s.text); err != nil {
		return Match{}, fmt.Errorf("cannot read temporary file: %w", err)
	}
	c.unread = 0
	return Match{Segment: c.at.origin.Blob(), Store: c.at.origin.Store, Instance: c.at.origin.Meta.Instance, Time: c.at.time, Line: s.text}, nil
}
func (c *runCursor) size() int64 { return 0 } // the records are in the file

func (c *runCursor) next() (bool, error) {
	var head [headSize]byte
	if _, err := c.r.Discard(c.unread); err != nil {
		return false, fmt.Errorf("cannot read temporary file: %w", err)
	}
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		return false, fmt.Errorf("cannot read temporary file: %w", err)
	}
	c.at = key{
		time:   int64(binary.LittleEndian.Uint64(head[0:])),
		origin: c.spill.origins[binary.LittleEndian.Uint32(head[8:])],
		block:  int(binary.LittleEndian.Uint32(head[12:])),
	}
	c.unread = int(binary.LittleEndian.Uint32(head[16:]))
	return true, nil
}
