package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/vmihailenco/msgpack/v5"

	"logstow/record"
)

// MaxRecords is how many records one append may hand over.
const MaxRecords = 1 << 20

// Version is the version of the log's format, in every snapshot.
const Version = 1

// The kinds of entry: the first element of each payload, which is a msgpack array.
const (
	kindSnapshot = 1 // version, next number, last Seq, positions, coverage
	kindRecords  = 2 // see encodeRecords
	kindCovered  = 3 // Seq, one coverage
	kindDurable  = 4 // nothing: its frame says how much is durable
)

// ErrEntry says that a frame's payload, though whole, is not an entry of this version.
var ErrEntry = errors.New("not an entry of the log")

// Key is what batches are made of: one service's records of one class and bucket.
type Key struct {
	Service, Class string
	// Start and Width are the bucket's, in Unix nanoseconds and nanoseconds.
	Start, Width int64
}

// Run is a stretch of a chunk's records that belong to one bucket.
type Run struct {
	Start, Width int64
	Count        int
}

// Position is how far an input was read. An empty Value forgets the input.
type Position struct {
	Input string
	Value []byte
}

// Records is an entry: what one append handed over. Everything is final; replay
// interprets nothing.
type Records struct {
	// First is the number of the first record; the others follow it.
	First          uint64
	Service, Class string
	// Runs cover Records from the first to the last.
	Runs      []Run
	Records   []record.Record
	Positions []Position
}

// encodeRecords appends the payload
//
//	[2, first, service, class, [[start, width, count]…], times, levels, [source, count…], lengths, messages, [input, position…]]
//
// in which times (zigzag varint differences), levels (a byte each), lengths
// (varints) and messages (one after the other) are binaries.
func (w *encoder) encodeRecords(first uint64, service, class string, runs []Run, records []record.Record, positions []Position) error {
	if len(records) > MaxRecords {
		return fmt.Errorf("%d records in one append, the limit is %d", len(records), MaxRecords)
	}
	w.begin(11, kindRecords)
	w.uint(first)
	w.str(service)
	w.str(class)
	w.array(len(runs))
	for _, r := range runs {
		w.array(3)
		w.int(r.Start)
		w.int(r.Width)
		w.uint(uint64(r.Count))
	}
	total := 0
	times, levels, lengths := w.times[:0], w.levels[:0], w.lengths[:0]
	last, sources := int64(0), 0
	for i := range records {
		r := &records[i]
		times = binary.AppendVarint(times, r.Time-last)
		last = r.Time
		levels = append(levels, byte(r.Level))
		lengths = binary.AppendUvarint(lengths, uint64(len(r.Message)))
		total += len(r.Message)
		if i == 0 || r.Source != records[i-1].Source {
			sources++
		}
	}
	w.times, w.levels, w.lengths = times, levels, lengths
	if total > MaxFrame-(1<<20) {
		return fmt.Errorf("%d bytes of messages in one append, the limit is %d", total, MaxFrame-(1<<20))
	}
	w.bin(times)
	w.bin(levels)
	w.array(2 * sources)
	for i := 0; i < len(records); {
		n := i + 1
		for n < len(records) && records[n].Source == records[i].Source {
			n++
		}
		w.str(records[i].Source)
		w.uint(uint64(n - i))
		i = n
	}
	w.bin(lengths)
	w.check(w.enc.EncodeBytesLen(total))
	for i := range records {
		w.buf.Write(records[i].Message)
	}
	w.positions(positions)
	return w.err
}

func decodeRecords(r *decoder) (e Records, err error) {
	e.First, e.Service, e.Class = r.uint(), r.str(), r.str()
	total := 0
	for range r.array() {
		if r.array() != 3 {
			r.fail("run")
		}
		run := Run{Start: r.int(), Width: r.int(), Count: r.count()}
		total += run.Count
		if r.err != nil {
			return e, r.err
		}
		e.Runs = append(e.Runs, run)
	}
	times, levels := r.bin(), r.bin()
	if total != len(levels) || total > MaxRecords {
		r.fail("counts")
	}
	var sources []string
	var counts []int
	for range r.array() / 2 {
		sources, counts = append(sources, r.str()), append(counts, r.count())
		if r.err != nil {
			return e, r.err
		}
	}
	lengths, messages := r.bin(), r.bin()
	e.Positions = r.positions()
	if r.err != nil {
		return e, r.err
	}
	e.Records = make([]record.Record, len(levels)) // a byte of the payload stands for each
	last, source := int64(0), 0
	for i := range e.Records {
		d, n := binary.Varint(times)
		length, m := binary.Uvarint(lengths)
		for source < len(counts) && counts[source] == 0 {
			source++
		}
		if n <= 0 || m <= 0 || length > uint64(len(messages)) || source == len(sources) || int(levels[i]) >= record.Levels {
			return e, fmt.Errorf("%w: record %d", ErrEntry, i)
		}
		last += d
		counts[source]--
		e.Records[i] = record.Record{Time: last, Level: record.Level(levels[i]), Source: sources[source], Message: messages[:length:length]}
		times, lengths, messages = times[n:], lengths[m:], messages[length:]
	}
	if len(times)+len(lengths)+len(messages) > 0 || slices.ContainsFunc(counts, func(n int) bool { return n != 0 }) {
		return e, fmt.Errorf("%w: bytes left over", ErrEntry)
	}
	return e, nil
}

// snapshot is the first entry of every log file: all that older files said that
// still matters, but for their records.
type snapshot struct {
	next      uint64
	seq       int64
	positions map[string][]byte
	coverage  map[Key]uint64
}

// encodeSnapshot appends [1, version, next, seq, [input, position…], [[service, class, start, width, through]…]].
func (w *encoder) encodeSnapshot(s *snapshot) error {
	w.begin(6, kindSnapshot)
	w.uint(Version)
	w.uint(s.next)
	w.int(s.seq)
	var all []Position
	for input, value := range s.positions {
		all = append(all, Position{input, value})
	}
	slices.SortFunc(all, func(a, b Position) int { return bytes.Compare([]byte(a.Input), []byte(b.Input)) })
	w.positions(all)
	w.array(len(s.coverage))
	for key, through := range s.coverage {
		w.coverage(key, through)
	}
	return w.err
}

func decodeSnapshot(r *decoder) (*snapshot, error) {
	if v := r.uint(); r.err == nil && v != Version {
		return nil, fmt.Errorf("%w: the log is of version %d, this program knows %d: use a newer one", ErrEntry, v, Version)
	}
	s := &snapshot{next: r.uint(), seq: r.int(), positions: map[string][]byte{}, coverage: map[Key]uint64{}}
	for _, p := range r.positions() {
		s.positions[p.Input] = p.Value
	}
	for range r.array() {
		key, through := r.coverage()
		if r.err != nil {
			break
		}
		s.coverage[key] = through
	}
	return s, r.err
}

// encodeCovered appends [3, seq, [service, class, start, width, through]].
func (w *encoder) encodeCovered(key Key, through uint64, seq int64) error {
	w.begin(3, kindCovered)
	w.int(seq)
	w.coverage(key, through)
	return w.err
}

// encodeDurable appends [4].
func (w *encoder) encodeDurable() error {
	w.begin(1, kindDurable)
	return w.err
}

// decoded is any entry; one of the three is set, or none.
type decoded struct {
	snapshot *snapshot
	records  *Records
	covered  *covered
}

// covered says that all records of a key up to a number are in sealed batches,
// the last of which has the given Seq.
type covered struct {
	key     Key
	through uint64
	seq     int64
}

// decode reads a payload. Messages are views into it.
func decode(payload []byte) (d decoded, err error) {
	r := newDecoder(payload)
	n, kind := r.array(), r.uint()
	switch {
	case r.err != nil:
	case kind == kindSnapshot && n == 6:
		d.snapshot, r.err = decodeSnapshot(r)
	case kind == kindRecords && n == 11:
		var e Records
		e, r.err = decodeRecords(r)
		d.records = &e
	case kind == kindCovered && n == 3:
		d.covered = &covered{seq: r.int()}
		d.covered.key, d.covered.through = r.coverage()
	case kind == kindDurable && n == 1:
	default:
		r.fail("kind")
	}
	if r.err == nil && r.in.Len() > 0 {
		r.fail("end")
	}
	return d, r.err
}

// encoder writes payloads of frames into one buffer.
type encoder struct {
	buf                    bytes.Buffer
	enc                    *msgpack.Encoder
	times, levels, lengths []byte
	err                    error
}

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
	var head [frameHead]byte
	w.buf.Write(head[:])
	w.array(n)
	w.uint(kind)
}

// frame is what was written since begin, as a frame with the end mark behind it.
func (w *encoder) frame(durable int64, s seed) (marked []byte, size int64, err error) {
	size = int64(w.buf.Len())
	if size-frameHead > MaxFrame {
		return nil, 0, fmt.Errorf("an entry of %d bytes, the limit is %d", size-frameHead, MaxFrame)
	}
	endFrame(w.buf.Bytes(), durable, s)
	w.buf.WriteString(endMark)
	return w.buf.Bytes(), size, w.err
}

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

func (w *encoder) coverage(key Key, through uint64) {
	w.array(5)
	w.str(key.Service)
	w.str(key.Class)
	w.int(key.Start)
	w.int(key.Width)
	w.uint(through)
}

// decoder reads a payload; its first error sticks, and what it returns after one is zero.
type decoder struct {
	in  *bytes.Reader
	dec *msgpack.Decoder
	all []byte
	err error
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

// raw is a view of the next n bytes.
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

// array is an array's length, which the payload must have a byte for each element of.
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

// count is a number of records of which each takes a byte of the payload at least.
func (r *decoder) count() int {
	n := r.uint()
	if n > uint64(len(r.all)) {
		r.fail("count")
		return 0
	}
	return int(n)
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
	if r.array() != 5 {
		r.fail("coverage")
	}
	key = Key{Service: r.str(), Class: r.str(), Start: r.int(), Width: r.int()}
	return key, r.uint()
}
