// Package spill sorts records that may not fit in memory, by merging sorted runs in temporary files. A record is a key and a
// payload; keys sort bytewise.
package spill

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"logstow/internal/heap"
	"logstow/internal/hint"
	"logstow/internal/tempfile"
)

// Cursor reads records in the order of their keys.
type Cursor interface {
	// Next advances to the next record and returns its key, io.EOF at the end. It is valid until the next call.
	Next() (key []byte, err error)
	// Payload appends the payload of the record, which may be large, so that a merge keeps only that of one record in
	// memory. It must be called at most once for each.
	Payload(dst []byte) ([]byte, error)
	// Close releases what the cursor holds.
	Close() error
}

const (
	// maxRecord is the maximum size of a key and of a payload; a larger one is corrupt.
	maxRecord = 1 << 30
	// writeBuffer and readBuffer are the buffers of a run that is written and read.
	writeBuffer = 128 << 10
	readBuffer  = 32 << 10
)

// Run is a sorted run in a temporary file. The file has no name while it is open, on systems that
// allow that.
type Run struct {
	file *os.File
	// maxKey is the length of its longest key.
	maxKey int
}

// Write makes a run in dir, or the system's directory if dir is empty, from the records that fill passes to put. Keys must not
// decrease.
func Write(dir string, fill func(put func(key, payload []byte) error) error) (*Run, error) {
	file, err := tempfile.Create(dir)
	if err != nil {
		return nil, err
	}
	r := &Run{file: file}
	w := bufio.NewWriterSize(file, writeBuffer)
	e := encoder{w: w}
	if err = fill(e.put); err == nil && e.err == nil {
		e.err = w.Flush()
	}
	if e.err != nil {
		err = hint.Wrap(fmt.Errorf("cannot write temporary file: %w", e.err), "TMPDIR names the directory; it needs space for all groups")
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.maxKey = e.maxKey
	return r, nil
}

// Close removes the run.
func (r *Run) Close() error { return tempfile.Remove(r.file) }

// Cursor reads the run from its start. Closing it does not close the run.
func (r *Run) Cursor() Cursor {
	return newDecoder(io.NewSectionReader(r.file, 0, 1<<62))
}

// encoder writes a run. Each record is
//
//	length of the common prefix with the previous key (uvarint)
//	length of the rest of the key (uvarint) | length of the payload (uvarint)
//	rest of the key | payload
type encoder struct {
	w    *bufio.Writer
	last []byte
	// maxKey is the length of the longest key.
	maxKey int
	head   [3 * binary.MaxVarintLen32]byte
	err    error // of writing, sticky
}

func (e *encoder) put(key, payload []byte) error {
	shared := commonPrefix(e.last, key)
	e.maxKey = max(e.maxKey, len(key))
	head := binary.AppendUvarint(e.head[:0], uint64(shared))
	head = binary.AppendUvarint(head, uint64(len(key)-shared))
	head = binary.AppendUvarint(head, uint64(len(payload)))
	for _, part := range [...][]byte{head, key[shared:], payload} {
		if _, err := e.w.Write(part); err != nil {
			e.err = err
			return err
		}
	}
	e.last = append(e.last[:shared], key[shared:]...)
	return nil
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// decoder reads what an encoder wrote.
type decoder struct {
	r   *bufio.Reader
	key []byte
	// unread is the length of the payload until it is read.
	unread int
}

func newDecoder(r io.Reader) *decoder { return &decoder{r: bufio.NewReaderSize(r, readBuffer)} }

var errCorrupt = errors.New("corrupt run")

func (d *decoder) Close() error { return nil }

func (d *decoder) Next() (key []byte, err error) {
	if _, err := d.r.Discard(d.unread); err != nil {
		return nil, readError(err)
	}
	d.unread = 0
	if _, err := d.r.Peek(1); errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	var lengths [3]uint64
	for i := range lengths {
		if lengths[i], err = binary.ReadUvarint(d.r); err != nil {
			return nil, readError(err)
		}
	}
	shared, rest, size := lengths[0], lengths[1], lengths[2]
	if shared > uint64(len(d.key)) || rest > maxRecord || size > maxRecord {
		return nil, readError(errCorrupt)
	}
	if d.key, err = read(d.r, d.key[:shared], int(rest)); err != nil {
		return nil, readError(err)
	}
	d.unread = int(size)
	return d.key, nil
}

func (d *decoder) Payload(dst []byte) ([]byte, error) {
	n := d.unread
	d.unread = 0
	dst, err := read(d.r, dst, n)
	if err != nil {
		return nil, readError(err)
	}
	return dst, nil
}

// read appends n bytes; memory grows with what is read, not with n.
func read(r io.Reader, dst []byte, n int) ([]byte, error) {
	for n > 0 {
		part := min(n, readBuffer)
		start := len(dst)
		if cap(dst)-start < part {
			dst = append(dst, make([]byte, max(part, min(n, start)))...)
		}
		dst = dst[:start+part]
		if _, err := io.ReadFull(r, dst[start:]); err != nil {
			return dst[:start], err
		}
		n -= part
	}
	return dst, nil
}

func readError(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("cannot read temporary file: %w", err)
}

// Merge reads several cursors as one. Equal keys come in the order of the cursors. The result owns the cursors: closing it, or
// an error of Merge, closes them.
func Merge(cursors []Cursor) (Cursor, error) {
	m := &merger{heap: heap.Heap[*head]{Before: (*head).before}}
	for i, c := range cursors {
		m.all = append(m.all, &head{Cursor: c, number: i})
	}
	for _, h := range m.all {
		if err := m.push(h); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	return m, nil
}

// head is a cursor with its current record.
type head struct {
	Cursor
	number int
	key    []byte
}

func (h *head) before(o *head) bool {
	if c := bytes.Compare(h.key, o.key); c != 0 {
		return c < 0
	}
	return h.number < o.number
}

// merger merges cursors with a binary heap.
type merger struct {
	all     []*head
	heap    heap.Heap[*head]
	started bool // Next has returned the record of the first cursor
}

func (m *merger) Close() error {
	var errs []error
	for _, h := range m.all {
		errs = append(errs, h.Close())
	}
	m.all, m.heap.Items = nil, nil
	return errors.Join(errs...)
}

// push advances a cursor and adds it to the heap, unless it has ended.
func (m *merger) push(h *head) (err error) {
	if h.key, err = h.Next(); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	m.heap.Push(h)
	return nil
}

func (m *merger) Payload(dst []byte) ([]byte, error) { return m.heap.Items[0].Payload(dst) }

func (m *merger) Next() (key []byte, err error) {
	if m.started && len(m.heap.Items) > 0 {
		first := m.heap.Items[0]
		switch first.key, err = first.Next(); {
		case errors.Is(err, io.EOF):
			m.heap.Pop()
		case err != nil:
			return nil, err
		default:
			m.heap.Fix()
		}
	}
	m.started = true
	if len(m.heap.Items) == 0 {
		return nil, io.EOF
	}
	return m.heap.Items[0].key, nil
}
