package compaction

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"logstow/internal/tempfile"
	"logstow/record"
	"logstow/segment"
)

// cursor reads records in output order, from a block in memory or from a run in the temporary file.
type cursor struct {
	// line is the current record; input and block tell where it comes from. Of a run it has only the time until load, because
	// many runs may be open, and records be large.
	line         record.Line
	input, block uint32
	// text is the rest of a block in memory, whole its whole buffer; nil for a run.
	text, whole []byte
	run         *bufio.Reader
	// unread is the length of the current record of a run, 0 after load.
	unread int
}

// before reports whether c is before d in output order: by time, then by input. Blocks of one input may overlap.
func (c *cursor) before(d *cursor) bool {
	switch {
	case c.line.Time != d.line.Time:
		return c.line.Time < d.line.Time
	case c.input != d.input:
		return c.input < d.input
	}
	return c.block < d.block
}

// next advances to the next record; it returns false at the end.
func (c *cursor) next() (bool, error) {
	if c.run != nil {
		return c.nextOfRun()
	}
	if len(c.text) == 0 {
		return false, nil
	}
	var err error
	c.line, c.text, err = record.Next(c.text)
	return err == nil, err
}

func (c *cursor) nextOfRun() (bool, error) {
	if _, err := c.run.Discard(c.unread); err != nil {
		return false, fmt.Errorf("cannot read temporary file: %w", err)
	}
	c.line, c.unread = record.Line{}, 0
	var head [4]uint64
	for i := range head {
		v, err := binary.ReadUvarint(c.run)
		if i == 0 && errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("cannot read temporary file: %w", err)
		}
		head[i] = v
	}
	if head[3] > segment.MaxBlockRaw {
		return false, fmt.Errorf("cannot read temporary file: record of %d bytes", head[3])
	}
	c.input, c.block, c.line.Time, c.unread = uint32(head[0]), uint32(head[1]), int64(head[2]), int(head[3])
	return true, nil
}

// load reads the current record of a run into buffer, which grows as needed; line is valid until buffer is used again.
func (c *cursor) load(buffer *[]byte) error {
	if c.unread == 0 {
		return nil
	}
	*buffer = slices.Grow((*buffer)[:0], c.unread)[:c.unread]
	if _, err := io.ReadFull(c.run, *buffer); err != nil {
		return fmt.Errorf("cannot read temporary file: %w", err)
	}
	c.unread = 0
	var err error
	c.line, _, err = record.Next(*buffer)
	return err
}

// cursors are a binary heap: the first record is at index 0.
type cursors []*cursor

func (h *cursors) push(c *cursor) {
	*h = append(*h, c)
	s := *h
	for i := len(s) - 1; i > 0; {
		parent := (i - 1) / 2
		if !s[i].before(s[parent]) {
			return
		}
		s[i], s[parent] = s[parent], s[i]
		i = parent
	}
}

// advance advances the first cursor, and removes it if it has ended: done is then this cursor.
func (h *cursors) advance() (done *cursor, err error) {
	s := *h
	more, err := s[0].next()
	if err != nil {
		return nil, err
	}
	if !more {
		done = s[0]
		last := len(s) - 1
		s[0], s[last] = s[last], nil
		*h = s[:last]
	}
	h.fix()
	return done, nil
}

// fix restores the order after the first item changed.
func (h *cursors) fix() {
	s := *h
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(s) {
			return
		}
		if child+1 < len(s) && s[child+1].before(s[child]) {
			child++
		}
		if !s[child].before(s[i]) {
			return
		}
		s[i], s[child] = s[child], s[i]
		i = child
	}
}

const (
	runBuffer   = 32 << 10
	writeBuffer = 256 << 10
)

// runs are sorted runs in one temporary file, which the first run creates.
type runs struct {
	dir  string
	file *os.File
	size int64
	// buffer has the record that was loaded last.
	buffer []byte
}

// write merges the records of cursors into a run and returns a cursor at its start.
func (r *runs) write(in cursors) (c *cursor, err error) {
	if r.file == nil {
		if r.file, err = tempfile.Create(r.dir); err != nil {
			return nil, err
		}
	}
	start := r.size
	w := bufio.NewWriterSize(io.NewOffsetWriter(r.file, start), writeBuffer)
	var head []byte
	for len(in) > 0 {
		first := in[0] // in memory
		head = binary.AppendUvarint(head[:0], uint64(first.input))
		head = binary.AppendUvarint(head, uint64(first.block))
		head = binary.AppendUvarint(head, uint64(first.line.Time))
		head = binary.AppendUvarint(head, uint64(len(first.line.Text)))
		r.size += int64(len(head) + len(first.line.Text))
		_, err := w.Write(head)
		if err == nil {
			_, err = w.Write(first.line.Text)
		}
		if err == nil {
			_, err = in.advance()
		}
		if err != nil {
			return nil, fmt.Errorf("cannot write temporary file: %w", err)
		}
	}
	if err := w.Flush(); err != nil {
		return nil, fmt.Errorf("cannot write temporary file: %w", err)
	}
	c = &cursor{run: bufio.NewReaderSize(io.NewSectionReader(r.file, start, r.size-start), runBuffer)}
	_, err = c.next()
	return c, err
}

func (r *runs) close() error {
	if r.file == nil {
		return nil
	}
	return tempfile.Remove(r.file)
}
