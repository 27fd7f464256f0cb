// Package imports is the input of shipper import: it copies blobs that other programs wrote, each version once.
//
// The position of a blob is the number of its records that were passed on, with a hash of them, in the same entry of the write-ahead log
// as the records. A run that was killed reads the blob again and skips as many. So does a run for which the blob has grown; if its first
// records are others, it was rewritten, and nothing of it is imported. Only the last one may be longer than it was: lines that followed
// continue it, so it is imported again. An incomplete line at the end of a blob that was written recently is left for the next run.
package imports

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"logstow/archive"
	"logstow/buffer"
	"logstow/input"
	"logstow/internal/hint"
	"logstow/internal/units"
	"logstow/layout"
	"logstow/record"
)

// Source is a container or directory to import from.
type Source struct {
	// Name identifies it in positions.
	Name string
	layout.Place
}

// Spec configures the input. It implements [input.Spec], but no configuration has it.
type Spec struct {
	Layout *layout.Layout
	// Target identifies the store that records are imported to. A position is of one.
	Target string
	// Sources are read one after the other.
	Sources []Source
	// From and To are the range of the times at which blobs were written, to which the slack of the layout is added.
	From, To time.Time
	// TempDir is the directory of temporary files; "" is the system's.
	TempDir string
}

// Kind implements [input.Spec].
func (s *Spec) Kind() input.Kind {
	return input.Kind{Name: "import", Positions: true, ServiceFromRecords: true}
}

// Keys implements [input.Spec].
func (s *Spec) Keys() []input.Key { return nil }

// Open implements [input.Spec].
func (s *Spec) Open(_ context.Context, with input.Opening) (input.Reader, error) {
	opts, err := with.Options.WithDefaults()
	if err != nil {
		return nil, err
	}
	return &importer{spec: s, opts: opts, now: opts.Now}, nil
}

// importer imports blobs. It is the sink and the processor of the reader of blobs, between which it counts records.
type importer struct {
	spec *Spec
	opts input.Options
	now  func() time.Time

	// of is the position of the blob that is read, before what the last run has passed on of it; rewritten is set if that is not there.
	of, before position
	name       string
	rewritten  bool
	// unfinished is set if the blob ends with a line that is left for the next run.
	unfinished bool

	imported, known, failed, left int
	// changed are those of the failed that were rewritten.
	changed int
}

// maxOpen is how long after the last write to a blob, and the end of the period in its name, its last line may be completed.
const maxOpen = time.Hour

// position is how far a version of a blob was imported.
type position struct {
	etag string
	// records is the number of records, hash that of these, and last the length of the last one's message.
	records, hash, last uint64
	done                bool
}

// prefix begins the names of positions.
const prefix = "import/"

func (m *importer) positionName(s *Source, blob string) string {
	return prefix + m.spec.Target + "\n" + s.Name + "\n" + blob
}

// encode encodes a position.
func (p *position) encode() []byte {
	b := []byte{version, 0}
	if p.done {
		b[1] = 1
	}
	b = binary.BigEndian.AppendUint64(b, p.hash)
	return append(binary.AppendUvarint(binary.AppendUvarint(b, p.records), p.last), p.etag...)
}

// version is that of encoded positions.
const version = 1

// decode decodes a position; the zero position if it is none.
func decode(b []byte) (p position) {
	const head = 2 + 8
	if len(b) < head || b[0] != version || b[1] > 1 {
		return position{}
	}
	records, n := binary.Uvarint(b[head:])
	last, m := binary.Uvarint(b[head+max(n, 0):])
	if n <= 0 || m <= 0 {
		return position{}
	}
	return position{etag: string(b[head+n+m:]), records: records, last: last, hash: binary.BigEndian.Uint64(b[2:]), done: b[1] == 1}
}

// Run implements [input.Reader].
func (m *importer) Run(ctx context.Context) error {
	opts := m.opts
	opts.Sink, opts.Process = counting{opts.Sink, m}, m
	reader, err := archive.NewReader(opts)
	if err != nil {
		return err
	}
	for i := range m.spec.Sources {
		if err := m.source(ctx, reader, &m.spec.Sources[i]); err != nil {
			return err
		}
	}
	switch {
	case m.imported+m.known+m.failed+m.left == 0:
		m.opts.Log.Warn("no blobs of the layout in the range")
	case m.imported+m.failed+m.left == 0:
		m.opts.Log.Info("nothing to import: all blobs of the range were imported before", "blobs", m.known)
	default:
		m.opts.Log.Info("imported", "blobs", m.imported, "imported_before", m.known, "unfinished", m.left, "failed", m.failed)
	}
	return m.failure()
}

// failure is an error if blobs were not imported completely.
func (m *importer) failure() error {
	if m.failed == 0 {
		return nil
	}
	err := fmt.Errorf("not imported completely: %s; see the log", units.Count(m.failed, "blob"))
	advice := []string{"run the import again once damaged blobs are repaired; what was imported is skipped"}
	if m.changed == m.failed {
		advice = nil
	}
	if m.changed > 0 {
		advice = append(advice, "copy rewritten blobs to other names, under which they are imported as a whole, and delete them or take a range without them")
	}
	return hint.Wrap(err, "%s", strings.Join(advice, "; "))
}

// source imports the blobs of a source.
func (m *importer) source(ctx context.Context, reader *archive.Reader, s *Source) error {
	found, err := m.spec.Layout.Find(ctx, &s.Place, m.spec.From, m.spec.To)
	if err != nil {
		return fmt.Errorf("cannot list the blobs of %s: %w", s.Name, err)
	}
	all := len(found)
	found = slices.DeleteFunc(found, func(b layout.Blob) bool {
		at, ok := m.opts.Sink.Position(m.positionName(s, b.Name))
		p := decode(at)
		return ok && p.done && p.etag == b.ETag
	})
	m.known += all - len(found)
	var size int64
	for i := range found {
		size += found[i].Size
	}
	m.opts.Stats.FileBytes.Add(size)
	return reader.ReadAll(ctx, s.Blobs, found, m.now, m.spec.TempDir, archive.Visit{
		Begin: func(b *layout.Blob) { m.begin(s, b) },
		Keep:  m.keep,
		End: func(b *layout.Blob, gone bool, err error) error {
			m.opts.Stats.FileBytesRead.Add(b.Size)
			m.opts.Stats.Bytes.Add(b.Size)
			return m.end(ctx, b, gone, err)
		},
	})
}

// begin starts counting the records of a blob.
func (m *importer) begin(s *Source, b *layout.Blob) {
	m.name = m.positionName(s, b.Name)
	at, _ := m.opts.Sink.Position(m.name)
	m.before, m.of, m.rewritten, m.unfinished = decode(at), position{etag: b.ETag}, false, false
}

// keep reports whether the text behind the last line break of a blob is imported now. It is if it is complete JSON, and also if it is not
// but will hardly be completed.
func (m *importer) keep(b *layout.Blob, text []byte, err error) bool {
	if len(bytes.Trim(text, "\x00\r\t ")) == 0 || json.Valid(text) {
		return true
	}
	now := m.now()
	grows := b.Grows && now.Sub(b.Modified) < maxOpen && (!b.Dated || now.Sub(b.End) < max(maxOpen, m.spec.Layout.Slack()))
	m.unfinished = grows || err != nil
	return !m.unfinished
}

// end stores that a blob was imported.
func (m *importer) end(ctx context.Context, b *layout.Blob, gone bool, err error) error {
	if err == nil && !gone && (m.rewritten || m.of.records < m.before.records) {
		m.changed++
		err = errors.New("it was rewritten since a part of it was imported; the rest is not imported")
	}
	switch {
	case gone:
		m.opts.Log.Warn("deleted before it was imported", "blob", b.Name)
		return nil
	case err != nil:
		m.failed++
		m.opts.Log.Error("cannot import a blob to its end", "blob", b.Name, "error", err)
		return nil
	case m.unfinished:
		m.left++
		m.opts.Log.Warn("the blob ends within a line, which is left for the next import", "blob", b.Name)
		return nil
	}
	m.imported++
	m.of.done = true
	_, err = m.opts.Sink.Append(ctx, buffer.Chunk{Service: b.Service, Class: m.opts.Class, Positions: m.positions()})
	return err
}

// positions is the position behind the records that were processed.
func (m *importer) positions() []buffer.Position {
	return []buffer.Position{{Input: m.name, Value: m.of.encode()}}
}

// Process implements [input.Processor]: it counts a record, and drops it if it was imported before.
func (m *importer) Process(service string, r *record.Record) bool {
	sum := m.of.hash
	m.of.records, m.of.last = m.of.records+1, uint64(len(r.Message))
	m.of.hash = chain(sum, service, r, r.Message)
	continued := false
	if m.of.records == m.before.records && m.of.hash != m.before.hash {
		continued = m.of.last > m.before.last && chain(sum, service, r, r.Message[:m.before.last]) == m.before.hash
		m.rewritten = !continued
	}
	if m.of.records <= m.before.records && !continued || m.rewritten {
		return false
	}
	return m.opts.Process == nil || m.opts.Process.Process(service, r)
}

// chain is the hash of records, of which sum is that of those before a record with a message.
func chain(sum uint64, service string, r *record.Record, message []byte) uint64 {
	h := fnv.New64a()
	number := func(n uint64) { _, _ = h.Write(binary.BigEndian.AppendUint64(nil, n)) } // it never fails
	number(sum)
	for _, part := range [][]byte{[]byte(service), []byte(r.Source), r.Attributes, message} {
		number(uint64(len(part)))
		_, _ = h.Write(part)
	}
	return h.Sum64()
}

// counting is the sink of the reader of blobs: it adds positions to records.
type counting struct {
	input.Sink
	importer *importer
}

// Append implements [input.Sink].
func (c counting) Append(ctx context.Context, chunk buffer.Chunk) (buffer.LSN, error) {
	if len(chunk.Records) == 0 { // they are behind those that were imported before
		return 0, nil
	}
	chunk.Positions = c.importer.positions()
	return c.Sink.Append(ctx, chunk)
}
