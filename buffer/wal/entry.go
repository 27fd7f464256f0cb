package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"logstow/record"
	"logstow/segment"
)

// MaxRecords is the maximum number of records of one Append.
const MaxRecords = 1 << 20

// Records is an entry of records and positions: one Append. Times and buckets are final;
// replay does not interpret them.
type Records struct {
	// First is the number of the first record; the others follow it.
	First                 uint64
	Service, Class, Parse string
	// Runs cover the records from the first to the last.
	Runs    []Run
	Records []record.Record
	// Blocks, if not empty, hold the records as blocks of a segment ([segment.Compressor.EncodeBlock]), and Records is
	// not used.
	Blocks [][]byte
	// Instance is that of the records if it is not that of the buffer; there are Blocks then.
	Instance  string
	Positions []Position
}

// encodeRecords encodes an entry of records in one of two forms, kindRecords or kindBlocks. Their common
// parts are
//
//	[kind, first, service, class, [[start, width, count]…], …, [input, position…], parse, instance]
//
// If instance is "", it is left out, and so is parse if both are.
func (w *encoder) encodeRecords(e *Records) error {
	if n := max(count(e.Runs), len(e.Records)); n > MaxRecords {
		return fmt.Errorf("%d records in one append, the limit is %d", n, MaxRecords)
	}
	kind, parts := uint64(kindRecords), 12
	if len(e.Blocks) > 0 {
		kind, parts = kindBlocks, 7
	}
	if e.Instance != "" && kind != kindBlocks {
		return errors.New("records of another instance that are not blocks")
	}
	if e.Instance != "" {
		w.begin(parts+2, kind)
	} else {
		w.begin(lenWithParse(parts, e.Parse), kind)
	}
	w.uint(e.First)
	w.str(e.Service)
	w.str(e.Class)
	w.runs(e.Runs)
	var err error
	if len(e.Blocks) > 0 {
		err = w.blocks(e.Blocks)
	} else {
		err = w.records(e.Records)
	}
	if err != nil {
		return err
	}
	w.positions(e.Positions)
	if e.Instance != "" {
		w.str(e.Parse)
		w.str(e.Instance)
		return w.err
	}
	w.parse(e.Parse)
	return w.err
}

// blocks encodes the blocks of an entry: [block, …], each a binary.
func (w *encoder) blocks(blocks [][]byte) error {
	total := 0
	for _, b := range blocks {
		total += len(b)
	}
	if total > maxMessages {
		return fmt.Errorf("%d bytes of blocks in one append, the limit is %d", total, maxMessages)
	}
	w.array(len(blocks))
	for _, b := range blocks {
		w.bin(b)
	}
	return nil
}

// maxMessages is the maximum total size in bytes of the messages or blocks of an entry. It leaves space in the frame for
// the other parts.
const maxMessages = MaxFrame - 1<<20

// records encodes the records of an entry:
//
//	times, levels, [source, count…], [attributes, count…], lengths, messages
//
// in which times (zigzag varint differences), levels (a byte each), attributes, lengths
// (varints) and messages (one after the other) are binaries.
func (w *encoder) records(records []record.Record) error {
	total, size := 0, 0
	times, levels, lengths := w.times[:0], w.levels[:0], w.lengths[:0]
	last, sources, attributes := int64(0), 0, 0
	var before []byte // the attributes of the record before
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
		if i == 0 || len(r.Attributes) != len(before) || len(before) > 0 && !bytes.Equal(r.Attributes, before) {
			attributes++
			size += len(r.Attributes)
			before = r.Attributes
		}
	}
	w.times, w.levels, w.lengths = times, levels, lengths
	if total+size > maxMessages {
		return fmt.Errorf("%d bytes of messages and attributes in one append, the limit is %d", total+size, maxMessages)
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
	w.array(2 * attributes)
	for i := 0; i < len(records); {
		n := i + 1
		if attributes == 1 {
			n = len(records)
		}
		for n < len(records) && bytes.Equal(records[n].Attributes, records[i].Attributes) {
			n++
		}
		w.bin(records[i].Attributes)
		w.uint(uint64(n - i))
		i = n
	}
	w.bin(lengths)
	w.check(w.enc.EncodeBytesLen(total))
	if total > maxCopied {
		w.messages, w.messagesAt, w.messageBytes = records, w.buf.Len(), total
		return nil
	}
	for i := range records {
		w.buf.Write(records[i].Message)
	}
	return nil
}

// decodeBlocks decodes an entry with blocks; expand decodes the blocks.
func decodeBlocks(r *decoder, hasParse, hasInstance bool) *Records {
	e := &Records{First: r.uint(), Service: r.str(), Class: r.str(), Runs: r.runs(MaxRecords)}
	for range r.array() {
		e.Blocks = append(e.Blocks, r.bin())
	}
	e.Positions = r.positions()
	if hasParse {
		e.Parse = r.str()
	}
	if hasInstance {
		e.Instance = r.str()
	}
	if count(e.Runs) > MaxRecords || len(e.Blocks) == 0 {
		r.fail("counts")
	}
	return e
}

// expand decodes the blocks of an entry.
func (e *Records) expand(d *segment.Decoder) error {
	if len(e.Blocks) == 0 {
		return nil
	}
	for _, b := range e.Blocks {
		records, err := d.DecodeRecords(b)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrEntry, err)
		}
		e.Records = append(e.Records, records...)
	}
	if len(e.Records) != count(e.Runs) {
		return fmt.Errorf("%w: its blocks have %d records, %d are expected", ErrEntry, len(e.Records), count(e.Runs))
	}
	e.Blocks = nil
	return nil
}

func decodeRecords(r *decoder, hasParse bool) (e Records, err error) {
	e.First, e.Service, e.Class, e.Runs = r.uint(), r.str(), r.str(), r.runs(len(r.all))
	total := count(e.Runs)
	times, levels := r.bin(), r.bin()
	if total != len(levels) || total > MaxRecords {
		r.fail("counts")
	}
	sources, attributes := repeated(r, r.str), repeated(r, r.bin)
	lengths, messages := r.bin(), r.bin()
	e.Positions = r.positions()
	if hasParse {
		e.Parse = r.str()
	}
	if r.err != nil {
		return e, r.err
	}
	e.Records = make([]record.Record, len(levels)) // bounded: the payload has a byte for each
	last := int64(0)
	for i := range e.Records {
		d, n := binary.Varint(times)
		length, m := binary.Uvarint(lengths)
		source, ok := sources.next()
		attrs, also := attributes.next()
		if n <= 0 || m <= 0 || length > uint64(len(messages)) || !ok || !also || int(levels[i]) >= record.Levels {
			return e, fmt.Errorf("%w: record %d", ErrEntry, i)
		}
		last += d
		e.Records[i] = record.Record{
			Time:       last,
			Level:      record.Level(levels[i]),
			Source:     source,
			Attributes: attrs,
			Message:    messages[:length:length],
		}
		times, lengths, messages = times[n:], lengths[m:], messages[length:]
	}
	if len(times)+len(lengths)+len(messages) > 0 || sources.left() || attributes.left() {
		return e, fmt.Errorf("%w: bytes left over", ErrEntry)
	}
	return e, nil
}

// repetitions are values, each of which is repeated a number of times.
type repetitions[T any] struct {
	values []T
	counts []int
}

// repeated decodes [value, count…].
func repeated[T any](r *decoder, value func() T) (all repetitions[T]) {
	for range r.array() / 2 {
		all.values, all.counts = append(all.values, value()), append(all.counts, r.count(len(r.all)))
		if r.err != nil {
			break
		}
	}
	return all
}

// next returns the next value; not ok if there is none.
func (a *repetitions[T]) next() (value T, ok bool) {
	for len(a.counts) > 0 && a.counts[0] == 0 {
		a.values, a.counts = a.values[1:], a.counts[1:]
	}
	if len(a.counts) == 0 {
		return value, false
	}
	a.counts[0]--
	return a.values[0], true
}

// left reports whether there are more values.
func (a *repetitions[T]) left() bool {
	return slices.ContainsFunc(a.counts, func(n int) bool { return n != 0 })
}

// encodeOutline appends [6, first, service, class, runs, [input, position…], parse]: an
// entry of records without the records. If parse is "", it is left out.
func (w *encoder) encodeOutline(e *Records) error {
	w.array(lenWithParse(6, e.Parse))
	w.uint(kindOutline)
	w.uint(e.First)
	w.str(e.Service)
	w.str(e.Class)
	w.runs(e.Runs)
	w.positions(e.Positions)
	w.parse(e.Parse)
	return w.err
}

func decodeOutline(r *decoder, hasParse bool) *Records {
	// The records are in the log file, so the payload's size does not bound their number.
	e := &Records{First: r.uint(), Service: r.str(), Class: r.str(), Runs: r.runs(MaxRecords)}
	if e.Positions = r.positions(); count(e.Runs) > MaxRecords {
		r.fail("counts")
	}
	if hasParse {
		e.Parse = r.str()
	}
	return e
}

// encodeCovered appends [3, seq, [service, class, start, width, through, parse]].
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

// encodeDone appends [5, seq].
func (w *encoder) encodeDone(seq int64) error {
	w.begin(2, kindDone)
	w.int(seq)
	return w.err
}

// decoded is an entry of any kind; at most one field is set.
type decoded struct {
	snapshot *state
	records  *Records
	covered  *covered
	// outline is an entry of a copy for an entry of records: it has no records.
	outline *Records
	// done is the Seq of a batch that no longer waits.
	done   int64
	copied *copyEntry
}

// covered is an entry that Cover wrote.
type covered struct {
	key     Key
	through uint64
	seq     int64
}

// decode decodes a payload. Messages are slices of it.
func decode(payload []byte) (d decoded, err error) {
	r := newDecoder(payload)
	d = r.entry()
	if r.err == nil && r.in.Len() > 0 {
		r.fail("end")
	}
	return d, r.err
}

// entry decodes an entry.
func (r *decoder) entry() (d decoded) {
	n, kind := r.array(), r.uint()
	switch {
	case r.err != nil:
	case kind == kindSnapshot && n == 6:
		d.snapshot, r.err = decodeSnapshot(r)
	case kind == kindRecords && (n == 12 || n == 13):
		var e Records
		e, r.err = decodeRecords(r, n == 13)
		d.records = &e
	case kind == kindBlocks && n >= 7 && n <= 9:
		d.records = decodeBlocks(r, n >= 8, n == 9)
	case kind == kindCovered && n == 3:
		d.covered = &covered{seq: r.int()}
		d.covered.key, d.covered.through = r.coverage()
	case kind == kindDurable && n == 1:
	case kind == kindDone && n == 2:
		d.done = r.int()
	case kind == kindOutline && (n == 6 || n == 7):
		d.outline = decodeOutline(r, n == 7)
	case kind == kindCopied && n == 4 && !r.inCopy:
		r.inCopy = true
		c := &copyEntry{at: r.int(), size: r.int()}
		c.decoded = r.entry()
		d.copied = c
	default:
		r.fail(fmt.Sprintf("kind %d of %d elements; use a newer program", kind, n))
	}
	return d
}

// key returns the key of a run of the entry.
func (e *Records) key(run Run) Key { return Key{e.Service, e.Class, e.Parse, run.Start, run.Width} }

// sealed reports whether all records of an entry are in sealed batches.
func (e *Records) sealed(coverage map[Key]uint64) bool {
	number := e.First
	for _, run := range e.Runs {
		if run.skip(coverage[e.key(run)], number) < run.Count {
			return false
		}
		number += uint64(run.Count)
	}
	return true
}

// uncovered splits an entry into parts whose records are in no sealed batch. Each part has
// its own First, so the record numbers stay the same.
func uncovered(e *Records, coverage map[Key]uint64) (parts []Records) {
	at, number := 0, e.First
	for _, run := range e.Runs {
		skip := run.skip(coverage[e.key(run)], number)
		if skip < run.Count {
			parts = append(parts, Records{
				First: number + uint64(skip), Service: e.Service, Class: e.Class, Parse: e.Parse, Instance: e.Instance,
				Runs:    []Run{{run.Start, run.Width, run.Count - skip}},
				Records: e.Records[at+skip : at+run.Count],
			})
		}
		at += run.Count
		number += uint64(run.Count)
	}
	return parts
}

// copyEntry is an entry of a copy. at and size are the offset and the size of the frame of the same
// entry in the log file.
type copyEntry struct {
	decoded
	at, size int64
}

// end is the offset behind the frame in the log file.
func (c *copyEntry) end() int64 { return c.at + c.size }

// encodeCopied begins [7, offset, size, entry]; the caller appends the entry.
func (w *encoder) encodeCopied(at, size int64) {
	w.begin(4, kindCopied)
	w.int(at)
	w.int(size)
}
