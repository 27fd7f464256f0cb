package spill

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"logstow/internal/hint"
	"logstow/internal/tempfile"
)

const (
	// maxRecord is the maximum size of a key and of a payload; a larger one is corrupt.
	maxRecord = 1 << 30
	// writeBuffer is the buffer of a run that is written, readBuffer that of one that is read. It is smaller for the runs of a Merger,
	// which may have more.
	writeBuffer      = 128 << 10
	readBuffer       = 32 << 10
	mergerReadBuffer = 16 << 10
)

// file is a temporary file of runs, which the first run creates. The file has no name while it is open, on systems that allow that.
type file struct {
	dir  string // "" is the system's directory
	hint string // for an error of writing, if there is one
	file *os.File
	size int64
}

// run is a sorted run in a file.
type run struct {
	file       io.ReaderAt
	start, end int64
	// maxKey is the length of its longest key.
	maxKey int
}

// open returns a reader at the start of the run.
func (r *run) open() io.Reader { return io.NewSectionReader(r.file, r.start, r.end-r.start) }

// write appends a run of the records of a merger.
func write[K any](f *file, from *Merger[K]) (r *run, err error) {
	if f.file == nil {
		if f.file, err = tempfile.Create(f.dir); err != nil {
			return nil, err
		}
	}
	e := newEncoder(io.NewOffsetWriter(f.file, f.size))
	var encoded []byte
	err = from.Each(nil, func(key K, c Cursor[K]) error {
		payload, err := from.Payload(c)
		if err != nil {
			return err
		}
		encoded = from.keys.Encode(encoded[:0], key)
		return e.put(encoded, payload)
	})
	if err == nil && e.err == nil {
		e.err = e.w.Flush()
	}
	if e.err != nil {
		err = hint.Wrap(tempfile.Advise(f.dir, fmt.Errorf("cannot write temporary file%s: %w", f.in(), e.err)), "%s", f.hint)
	}
	if err != nil {
		return nil, err
	}
	r = &run{file: f.file, start: f.size, end: f.size + e.size, maxKey: e.maxKey}
	f.size = r.end
	return r, nil
}

// in names the directory in an error, unless it is the system's.
func (f *file) in() string {
	if f.dir == "" {
		return ""
	}
	return " in " + f.dir
}

// empty removes all runs.
func (f *file) empty() error {
	f.size = 0
	if err := f.file.Truncate(0); err != nil {
		return fmt.Errorf("cannot truncate temporary file: %w", err)
	}
	return nil
}

// close removes the file.
func (f *file) close() error {
	if f.file == nil {
		return nil
	}
	return tempfile.Remove(f.file)
}

// encoder writes a run. Each record is
//
//	length of the common prefix with the previous key (uvarint)
//	length of the rest of the key (uvarint) | length of the payload (uvarint)
//	rest of the key | payload
type encoder struct {
	w    *bufio.Writer
	size int64
	last []byte
	// maxKey is the length of the longest key.
	maxKey int
	head   [3 * binary.MaxVarintLen32]byte
	err    error // of writing, sticky
}

func newEncoder(w io.Writer) *encoder { return &encoder{w: bufio.NewWriterSize(w, writeBuffer)} }

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
		e.size += int64(len(part))
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

// reader is the cursor of a run, which an encoder wrote.
type reader[K any] struct {
	keys Keys[K]
	r    *bufio.Reader
	key  []byte
	// unread is the length of the payload until it is read.
	unread int
}

func newReader[K any](keys Keys[K], r io.Reader, buffer int) *reader[K] {
	return &reader[K]{keys: keys, r: bufio.NewReaderSize(r, buffer)}
}

var errCorrupt = errors.New("corrupt run")

// Next implements [Cursor].
func (d *reader[K]) Next() (key K, err error) {
	if _, err := d.r.Discard(d.unread); err != nil {
		return key, readError(err)
	}
	d.unread = 0
	if _, err := d.r.Peek(1); errors.Is(err, io.EOF) {
		return key, io.EOF
	}
	var lengths [3]uint64
	for i := range lengths {
		if lengths[i], err = binary.ReadUvarint(d.r); err != nil {
			return key, readError(err)
		}
	}
	shared, rest, size := lengths[0], lengths[1], lengths[2]
	if shared > uint64(len(d.key)) || rest > maxRecord || size > maxRecord {
		return key, readError(errCorrupt)
	}
	if d.key, err = read(d.r, d.key[:shared], int(rest)); err != nil {
		return key, readError(err)
	}
	d.unread = int(size)
	key, ok := d.keys.Decode(d.key)
	if !ok {
		return key, readError(errCorrupt)
	}
	return key, nil
}

// Payload implements [Cursor].
func (d *reader[K]) Payload(buffer *[]byte) (payload []byte, err error) {
	n := d.unread
	d.unread = 0
	if *buffer, err = read(d.r, (*buffer)[:0], n); err != nil {
		return nil, readError(err)
	}
	return *buffer, nil
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
