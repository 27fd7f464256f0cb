package query

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"logstow/blobnaming"
	"logstow/query/foreign"
	"logstow/record"
	"logstow/segment"
	"logstow/store"
)

const (
	// analyticsContainer is where Azure Storage Analytics writes its logs, under
	// names as segments have.
	analyticsContainer = "$logs"
	// analyticsSlack is how far a record of it may be from the times that its blob
	// says: those are whole seconds, and what is written late is under a later hour.
	analyticsSlack = time.Hour
)

// slack is how far the records of a store's blobs may lie from the hour of their name.
func (s *Store) slack() time.Duration {
	if s.Container == analyticsContainer || path.Base(s.Name) == analyticsContainer { // a copy in a directory
		return analyticsSlack
	}
	return 0
}

// listingRange is the range of hours to list for records of the selection in a store.
func (q *Query) listingRange(s *Store) (from, to time.Time) {
	from, to = q.sel.From, q.sel.To
	if slack := s.slack(); slack > 0 && from.Year() > 1 && to.Year() < 9999 {
		return from.Add(-slack), to.Add(slack)
	}
	return from, to
}

// parseName reads a blob's name. Storage Analytics counts from 000000, which is no
// number of ours.
func parseName(s string) (blobnaming.Name, error) {
	const first = "/000000" + blobnaming.Suffix
	hour, ok := strings.CutSuffix(s, first)
	if !ok {
		return blobnaming.Parse(s)
	}
	name, err := blobnaming.Parse(hour + "/000001" + blobnaming.Suffix)
	name.Number = 0
	return name, err
}

// isForeign reports whether a blob's metadata are not a Logstow's, of whatever version.
func isForeign(metadata map[string]string) bool {
	for key, value := range metadata {
		if strings.EqualFold(key, "LogVersion") && strings.HasPrefix(value, "logstow/") {
			return false
		}
	}
	return true
}

// foreignMetadata is what is known of a blob that another program wrote: the first
// and last time that a record of it may have, and an identity.
func foreignMetadata(s *Store, name blobnaming.Name, b *store.Blob) blobnaming.Metadata {
	hour := name.Bucket.Truncate(time.Hour)
	slack := s.slack()
	first, last := hour, hour.Add(time.Hour-1)
	if start, end, ok := analyticsTimes(b.Metadata); ok {
		first, last, slack = start, end, analyticsSlack
	}
	meta := blobnaming.Metadata{Start: nanos(first.Add(-slack)), End: nanos(last.Add(slack)), Instance: "-"}
	id := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%d", s.Name, b.Name, b.ETag, b.Size))
	copy(meta.Batch[:], id[:])
	return meta
}

// analyticsTimes are the times that Storage Analytics says of a blob in its metadata.
func analyticsTimes(metadata map[string]string) (start, end time.Time, ok bool) {
	var startErr, endErr error
	logs := false
	for key, value := range metadata {
		switch strings.ToLower(key) {
		case "logtype":
			logs = true
		case "starttime":
			start, startErr = time.Parse(time.RFC3339, value)
		case "endtime":
			end, endErr = time.Parse(time.RFC3339, value)
		}
	}
	ok = logs && startErr == nil && endErr == nil && !start.IsZero() && !end.Before(start)
	return start.UTC(), end.UTC(), ok
}

// foreign adds a blob that another program wrote, unless its times rule it out.
func (p *planner) foreign(h *listResult, s *Store, name blobnaming.Name, b *store.Blob) {
	meta := foreignMetadata(s, name, b)
	if !p.q.matcher.inRange(meta.Start, meta.End) || b.Size == 0 {
		h.pruned++
		return
	}
	h.foreign++
	h.segments = append(h.segments, &Segment{Store: s.Name, Name: name, Meta: meta, Size: b.Size, Foreign: true, Tier: b.Tier, blobs: inTier(s.Blobs, b.Tier), cache: s.Cache})
}

// convertForeign reads a foreign segment whole and keeps the records that match as blocks,
// with a footer that says where. What can not be read is noted.
func (q *Query) convertForeign(ctx context.Context, s *Segment) (*segment.Footer, error) {
	w := <-q.workers
	defer func() { q.workers <- w }()
	if err := w.scanner.prepare(); err != nil {
		return nil, err
	}
	w.scanner.checks = checks{time: true, level: true, source: len(q.matcher.sources) > 0, service: s.Name.Service}
	c := &blockBuilder{q: q, sources: map[string]bool{}, minutes: map[int64]*record.Counts{}, footer: &segment.Footer{Metadata: s.Meta}}
	var line []byte
	outside, broken := 0, 0
	var failure error
	next, stop := iter.Pull(q.pieces(ctx, s))
	defer stop()
	left := s.Size
	defer func() { q.tally.processed.Add(left) }()
	blob := &pieceReader{next: next, onRead: func(n int) {
		left -= int64(n)
		q.tally.processed.Add(int64(n))
	}}
	defer q.tally.findings.count(&w.scanner)
	var sampled []byte
	defer func() { q.tally.findings.sample.add(sampled) }()
	for r, err := range foreign.Records(blob, s.Name.Bucket, q.limitDecoded(ctx, s)) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		switch {
		case errors.Is(err, foreign.ErrLine):
			broken, failure = broken+1, err
			continue
		case err != nil:
			q.readFailed(ctx, s, err)
			continue // it was the last
		}
		line = record.AppendText(line[:0], r)
		if len(sampled) <= samplePart && !q.matcher.timeAndLevelOnly() {
			sampled = append(sampled, line...)
		}
		text := line[:len(line)-1]
		if !w.scanner.matches(text, 0, bytes.IndexByte(r.Message, '\n') >= 0) {
			continue
		}
		if r.Time < s.Meta.Start || r.Time > s.Meta.End {
			outside++
			continue
		}
		if err := c.add(line, r); err != nil {
			return nil, err
		}
	}
	if broken > 0 {
		q.readFailed(ctx, s, fmt.Errorf("%d lines: %w", broken, failure))
	}
	if outside > 0 {
		q.readFailed(ctx, s, fmt.Errorf("%d records are left out: their time is not in the hour of the name", outside))
	}
	return c.end()
}

const (
	// decodedRatio and decodedLeast bound the text that a foreign blob is decoded to: so
	// many times its size, or so many bytes if that is more. Logs reach a hundredfold; a blob
	// of some megabytes that decodes for minutes is no log.
	decodedRatio = 200
	decodedLeast = 256 << 20
)

// limitDecoded counts what is decoded of a foreign segment, and ends that with an error
// when ctx ends or there is too much.
func (q *Query) limitDecoded(ctx context.Context, s *Segment) func(text []byte) error {
	limit := max(decodedLeast, decodedRatio*s.Size)
	left := limit
	return func(text []byte) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if left -= int64(len(text)); left < 0 {
			return fmt.Errorf("more than %s of text in %s stored; the rest is not read", Size(limit), Size(s.Size))
		}
		q.tally.decoded.Add(int64(len(text)))
		q.tally.lines.Add(int64(bytes.Count(text, []byte("\n"))))
		return nil
	}
}

// blockBuilder makes blocks of records.
type blockBuilder struct {
	q       *Query
	text    []byte
	spans   []matchSpan
	block   segment.Block
	sorted  []byte // scratch
	sources map[string]bool
	minutes map[int64]*record.Counts
	footer  *segment.Footer
}

// add adds a record with its stored text.
func (c *blockBuilder) add(line []byte, r record.Record) error {
	if len(c.text) > 0 && len(c.text)+len(line) > segment.DefaultBlockSize {
		if err := c.flush(); err != nil {
			return err
		}
	}
	if len(c.spans) == 0 {
		c.block.Start, c.block.End = r.Time, r.Time
	}
	at := len(c.text)
	c.text = append(c.text, line...)
	c.spans = append(c.spans, matchSpan{r.Time, at, len(c.text)})
	c.block.Start, c.block.End = min(c.block.Start, r.Time), max(c.block.End, r.Time)
	c.block.Levels[r.Level]++
	if len(c.sources) <= segment.MaxSources {
		c.sources[r.Source] = true
	}
	minute := minuteOf(r.Time)
	if c.minutes[minute] == nil {
		c.minutes[minute] = &record.Counts{}
	}
	c.minutes[minute][r.Level]++
	return nil
}

// flush ends a block: its records are put into the order of time.
func (c *blockBuilder) flush() error {
	if len(c.spans) == 0 {
		return nil
	}
	text := c.text
	byTime := func(a, b matchSpan) int { return cmp.Compare(a.time, b.time) }
	if !slices.IsSortedFunc(c.spans, byTime) {
		slices.SortStableFunc(c.spans, byTime)
		c.sorted = c.sorted[:0]
		for _, p := range c.spans {
			c.sorted = append(c.sorted, c.text[p.start:p.end]...)
		}
		text = c.sorted
	}
	stored := c.q.compressor().Encode(nil, text)
	off, err := c.q.scratch.add(stored)
	if err != nil {
		return err
	}
	b := c.block
	b.Index, b.Offset, b.Stored, b.Raw, b.Records = len(c.footer.Blocks), off, int64(len(stored)), int64(len(text)), uint64(len(c.spans))
	b.CRC = crc32.Checksum(stored, crc32.MakeTable(crc32.Castagnoli))
	c.footer.Blocks = append(c.footer.Blocks, b)
	c.text, c.spans, c.block = c.text[:0], c.spans[:0], segment.Block{}
	return nil
}

// end ends the last block and returns the footer.
func (c *blockBuilder) end() (*segment.Footer, error) {
	if err := c.flush(); err != nil {
		return nil, err
	}
	c.footer.Sources = slices.Sorted(maps.Keys(c.sources))
	if len(c.sources) > segment.MaxSources {
		c.footer.Sources = []string{segment.ManySources}
	}
	for _, minute := range slices.Sorted(maps.Keys(c.minutes)) {
		c.footer.Minutes = append(c.footer.Minutes, record.Minute{Start: minute, Levels: *c.minutes[minute]})
	}
	return c.footer, nil
}

// piece is a piece of a blob.
type piece struct {
	data []byte
	err  error
}

// pieces reads a segment's blob from its start to its end, some pieces ahead.
func (q *Query) pieces(ctx context.Context, s *Segment) iter.Seq[piece] {
	offsets := func(yield func(int64) bool) {
		for off := int64(0); off < s.Size && yield(off); off += chunkBytes {
		}
	}
	length := func(off int64) int64 { return min(s.Size-off, chunkBytes) }
	return orderedParallel(ctx, window{first: 1, max: foreignPrefetch, bytes: foreignPrefetch * chunkBytes}, offsets, length,
		func(ctx context.Context, off int64) piece {
			data, err := q.read(ctx, s, off, length(off))
			return piece{data, err}
		})
}

// foreignPrefetch is how many pieces of a foreign blob are read ahead.
const foreignPrefetch = 4

// pieceReader makes a reader of parts.
type pieceReader struct {
	next func() (piece, bool)
	// onRead is called with the number of bytes of each Read.
	onRead func(n int)
	data   []byte
}

func (r *pieceReader) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		next, ok := r.next()
		if !ok {
			return 0, io.EOF
		}
		if next.err != nil {
			return 0, next.err
		}
		r.data = next.data
	}
	n := copy(p, r.data)
	r.onRead(n)
	r.data = r.data[n:]
	return n, nil
}
