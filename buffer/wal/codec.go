package wal

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/vmihailenco/msgpack/v5"

	"logstow/record"
)

// Version is the version of the log's format, in every snapshot.
const Version = 1

// The kinds of entry: the first element of each payload, which is a msgpack array.
const (
	kindSnapshot = 1 // version, next number, batches, positions, coverage
	kindRecords  = 2 // see encodeRecords
	kindCovered  = 3 // Seq, one coverage
	kindDurable  = 4 // nothing: its frame has the number of durable bytes
	kindDone     = 5 // Seq
	kindOutline  = 6 // first number, service, class, runs, positions; in copies only
	kindCopied   = 7 // offset, size, entry; in copies only
	kindBlocks   = 8 // see encodeRecords
)

// encoder encodes frames into a buffer that it reuses.
type encoder struct {
	buf                    bytes.Buffer
	enc                    *msgpack.Encoder
	times, levels, lengths []byte
	err                    error
	// messages are the records of the frame if their messages are large: those are not copied into buf. They have
	// messageBytes in total and belong at offset messagesAt of buf.
	messages                 []record.Record
	messagesAt, messageBytes int
	// end is where the payload of the last frame ends in buf.
	end int
}

// maxCopied is the maximum total size in bytes of messages that are copied into the encoder's buffer.
const maxCopied = 1 << 20

func newEncoder() *encoder {
	w := &encoder{}
	w.enc = msgpack.NewEncoder(&w.buf)
	w.enc.UseCompactInts(true)
	return w
}

// begin starts a frame with an array of n elements, the first being kind.
func (w *encoder) begin(n int, kind uint64) {
	w.buf.Reset()
	w.err = nil
	w.messages, w.messagesAt, w.messageBytes = nil, 0, 0
	var head [frameHead]byte
	w.buf.Write(head[:])
	w.array(n)
	w.uint(kind)
}

// frame returns what was written since begin as a frame of size bytes, followed by the end marker.
// It must not be called for an entry with messages that were not copied.
func (w *encoder) frame(durable int64, s seed) (frame []byte, size int64, err error) {
	size, err = w.endFrame(durable, s)
	return w.buf.Bytes(), size, err
}

// endFrame completes the frame that begin started, of size bytes, and appends the end marker.
func (w *encoder) endFrame(durable int64, s seed) (size int64, err error) {
	w.end = w.buf.Len()
	payload := w.end - frameHead + w.messageBytes
	if payload > MaxFrame {
		return 0, fmt.Errorf("entry of %d bytes, the limit is %d", payload, MaxFrame)
	}
	head := w.buf.Bytes()[:frameHead]
	sum := beginHead(head, payload, durable, s)
	for part := range w.parts(frameHead, w.end) {
		sum = payloadSum(sum, part)
	}
	binary.LittleEndian.PutUint32(head[12:], sum)
	w.buf.WriteString(endMarker)
	return int64(frameHead + payload), w.err
}

// parts yields the bytes of buf in a range, with the messages inserted at messagesAt.
func (w *encoder) parts(from, to int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		b := w.buf.Bytes()
		if len(w.messages) == 0 {
			yield(b[from:to])
			return
		}
		if !yield(b[from:w.messagesAt]) {
			return
		}
		for i := range w.messages {
			if !yield(w.messages[i].Message) {
				return
			}
		}
		yield(b[w.messagesAt:to])
	}
}

// writeFrame writes the last frame and its end marker to a file, and returns how many bytes were written. The
// messages are not used afterwards.
func (w *encoder) writeFrame(file io.WriterAt, at int64) (n int64, err error) {
	if len(w.messages) == 0 {
		n, err := file.WriteAt(w.buf.Bytes(), at)
		return int64(n), err
	}
	defer func() { w.messages = nil }()
	const piece = 512 << 10
	out := io.NewOffsetWriter(file, at)
	pieces := bufio.NewWriterSize(out, piece)
	for part := range w.parts(0, w.buf.Len()) {
		if _, err = pieces.Write(part); err != nil {
			break
		}
	}
	if err == nil {
		err = pieces.Flush()
	}
	n, _ = out.Seek(0, io.SeekCurrent) // never fails
	return n, err
}

// payload returns the payload of the last frame, without messages that were not copied.
func (w *encoder) payload() []byte { return w.buf.Bytes()[frameHead:w.end] }

func (w *encoder) check(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *encoder) array(n int)   { w.check(w.enc.EncodeArrayLen(n)) }
func (w *encoder) uint(v uint64) { w.check(w.enc.EncodeUint(v)) }
func (w *encoder) int(v int64)   { w.check(w.enc.EncodeInt(v)) }
func (w *encoder) str(s string)  { w.check(w.enc.EncodeString(s)) }

func (w *encoder) bin(b []byte) {
	w.check(w.enc.EncodeBytesLen(len(b)))
	w.buf.Write(b)
}

func (w *encoder) positions(all []Position) {
	w.array(2 * len(all))
	for _, p := range all {
		w.str(p.Input)
		w.bin(p.Value)
	}
}

func (w *encoder) runs(runs []Run) {
	w.array(len(runs))
	for _, r := range runs {
		w.array(3)
		w.int(r.Start)
		w.int(r.Width)
		w.uint(uint64(r.Count))
	}
}

// lenWithParse returns the length of an array of n elements and a parser, which is left out if it is "".
func lenWithParse(n int, parse string) int {
	if parse != "" {
		n++
	}
	return n
}

func (w *encoder) parse(parse string) {
	if parse != "" {
		w.str(parse)
	}
}

func (w *encoder) coverage(key Key, through uint64) {
	w.array(lenWithParse(5, key.Parse))
	w.str(key.Service)
	w.str(key.Class)
	w.int(key.Start)
	w.int(key.Width)
	w.uint(through)
	w.parse(key.Parse)
}

// decoder decodes a payload. Its first error is sticky, and everything decoded after it is zero.
type decoder struct {
	in  *bytes.Reader
	dec *msgpack.Decoder
	all []byte
	err error
	// inCopy is set while an entry inside a kindCopied entry is decoded.
	inCopy bool
}

func newDecoder(payload []byte) *decoder {
	in := bytes.NewReader(payload)
	return &decoder{in: in, dec: msgpack.NewDecoder(in), all: payload}
}

func (r *decoder) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrEntry, what)
	}
}

func value[T any](r *decoder, read func() (T, error)) (v T) {
	if r.err != nil {
		return v
	}
	v, err := read()
	if err != nil {
		var zero T
		r.err = fmt.Errorf("%w: %w", ErrEntry, err)
		return zero
	}
	return v
}

func (r *decoder) uint() uint64 { return value(r, r.dec.DecodeUint64) }
func (r *decoder) int() int64   { return value(r, r.dec.DecodeInt64) }
func (r *decoder) str() string  { return string(r.raw(value(r, r.dec.DecodeBytesLen))) }
func (r *decoder) bin() []byte  { return r.raw(value(r, r.dec.DecodeBytesLen)) }

// raw returns the next n bytes without copying them.
func (r *decoder) raw(n int) []byte {
	if r.err != nil || n <= 0 {
		return nil
	}
	at := len(r.all) - r.in.Len()
	if n > r.in.Len() {
		r.fail("length")
		return nil
	}
	if _, err := r.in.Seek(int64(n), 1); err != nil {
		r.fail("length")
	}
	return r.all[at : at+n : at+n]
}

// array decodes an array's length, which must not exceed the remaining bytes of the payload.
func (r *decoder) array() int {
	n := value(r, r.dec.DecodeArrayLen)
	if n < 0 || n > r.in.Len() {
		r.fail("array")
	}
	if r.err != nil {
		return 0
	}
	return n
}

// count decodes a number of records, at most limit.
func (r *decoder) count(limit int) int {
	n := r.uint()
	if n > uint64(limit) {
		r.fail("count")
		return 0
	}
	return int(n)
}

// runs decodes the runs of an entry; the count of each is at most limit.
func (r *decoder) runs(limit int) (runs []Run) {
	for range r.array() {
		if r.array() != 3 {
			r.fail("run")
		}
		run := Run{Start: r.int(), Width: r.int(), Count: r.count(limit)}
		if r.err != nil {
			return nil
		}
		runs = append(runs, run)
	}
	return runs
}

func (r *decoder) positions() (all []Position) {
	for range r.array() / 2 {
		p := Position{Input: r.str(), Value: bytes.Clone(r.bin())}
		if r.err != nil {
			return nil
		}
		all = append(all, p)
	}
	return all
}

func (r *decoder) coverage() (key Key, through uint64) {
	n := r.array()
	if n != 5 && n != 6 {
		r.fail("coverage")
	}
	key = Key{Service: r.str(), Class: r.str(), Start: r.int(), Width: r.int()}
	through = r.uint()
	if n == 6 {
		key.Parse = r.str()
	}
	return key, through
}

// ErrEntry reports that the payload of an intact frame is not an entry of a known version.
var ErrEntry = errors.New("not an entry of the log")
