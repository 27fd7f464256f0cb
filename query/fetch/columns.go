package fetch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"logstow/columns"
	"logstow/field"
	"logstow/message"
	"logstow/query/match"
	"logstow/query/rowset"
	"logstow/query/source"
	"logstow/segment"
	"logstow/store"
)

// WithColumns returns a fetcher for a step that needs only these columns of the matching records. If a segment has these and
// the columns of the conditions, [Fetcher.FromColumns] answers without reading text.
func (f *Fetcher) WithColumns(names []columns.Name) *Fetcher {
	other := *f
	other.fromColumns, other.columnNames = true, names
	return &other
}

// prune drops the blocks in which no record can match according to columns: first by the bounds of their pages in the
// directory, before reading any page, then by the distinct values of pages, and record by record if the text would be read
// otherwise.
func (f *Fetcher) prune(ctx context.Context, s *segmentColumns, blocks []segment.Block) []segment.Block {
	if s == nil {
		return blocks
	}
	conditions := f.Matcher.ColumnConditions()
	if conditions {
		blocks = slices.DeleteFunc(blocks, func(b segment.Block) bool { return f.outOfBounds(s, b) && f.exclude(s, b) })
	}
	f.loadColumns(ctx, s, blocks)
	if conditions && (f.Matcher.Selection.Columns != nil || !f.textless()) {
		blocks = slices.DeleteFunc(blocks, func(b segment.Block) bool { return f.noneMatch(ctx, s, b) && f.exclude(s, b) })
	}
	return blocks
}

// outOfBounds reports whether no record of a block can match by the bounds of its pages.
func (f *Fetcher) outOfBounds(s *segmentColumns, b segment.Block) bool {
	return f.Matcher.Excluded(func(name columns.Name) (least, greatest string, ok bool) {
		if p := s.page(name, b); p != nil {
			return p.Least, p.Greatest, true
		}
		return "", "", false
	})
}

// textless reports whether columns can answer the step without the text, in segments that have them.
func (f *Fetcher) textless() bool { return f.fromColumns && f.Matcher.ColumnsSuffice() }

// noneMatch reports whether the columns of a block show that no record of it matches.
func (f *Fetcher) noneMatch(ctx context.Context, s *segmentColumns, b segment.Block) bool {
	w, release := f.worker(ctx)
	defer release()
	cols := f.blockColumns(ctx, w, s, b)
	if w.filter != nil && !w.filter.MayMatch(s.source.Name.Service, &b, cols) {
		return true
	}
	if f.textless() {
		return false
	}
	sel, ok := w.columns.Select(&b, f.checksOf(s.source, b), cols)
	w.columns.TakeRejections()
	if ok && sel.Count == 0 {
		return true
	}
	if !ok {
		sel = rowset.Selected{Count: int(b.Records)}
	}
	return w.filter != nil && !w.filter.AnyMatches(s.source.Name.Service, &b, sel, cols)
}

// exclude counts a block as excluded. It returns false if the block must be read anyway, for the sample that explains an
// empty result.
func (f *Fetcher) exclude(s *segmentColumns, b segment.Block) bool {
	if f.isSample(s, b) {
		return false
	}
	rejected := match.Rejections{match.StageWhere: b.Records}
	if c := f.checksOf(s.source, b); c.Time || c.Level || c.Source {
		rejected = match.Rejections{match.StageUnread: b.Records}
	}
	f.addRejected(rejected)
	f.Recorder.BlocksExcluded.Add(1)
	return true
}

// addRejected records what columns rejected. Unless columns decide all conditions, records that an expression rejects are
// counted as unread, because conditions on the text may reject them, too.
func (f *Fetcher) addRejected(rejected match.Rejections) {
	if !f.Matcher.ColumnsSuffice() {
		rejected[match.StageUnread] += rejected[match.StageWhere]
		rejected[match.StageWhere] = 0
	}
	f.findings.AddRejections(rejected)
}

// isSample reports whether the text of a block without matches is to be read for the sample. For the chosen block it is
// true in every call.
func (f *Fetcher) isSample(s *segmentColumns, b segment.Block) bool {
	if f.findings.WantsSample() {
		s.sample.Store(int64(b.Index) + 1)
	}
	return s.sample.Load() == int64(b.Index)+1
}

// segmentColumns are the columns of one segment. Safe for concurrent use.
type segmentColumns struct {
	source    *source.Segment
	directory *segment.Columns
	// sameParser is set if the query finds fields with the parser that the columns were made with; otherwise columns of
	// fields are not used.
	sameParser bool
	// blob is the whole blob if it has been read, otherwise nil.
	blob []byte
	// first and last are the first and last block whose pages are read, with one request for each column.
	first, last int
	// mixed finds the parts of records; nil unless the segment is mixed.
	mixed *mixedReader
	noted atomic.Bool // a problem has been noted
	// sample is one more than the index of the block that is read for the sample; 0 if that is in another segment.
	sample atomic.Int64

	mu   sync.Mutex
	data map[columns.Name]*columnData
}

// columnData are the pages of a column.
type columnData struct {
	// from and end are the range of the blob.
	from, end int64
	once      sync.Once
	data      []byte
	err       error
}

// openColumns reads the directory of a segment's columns; nil if the segment has none, or the step needs none. mixed is
// nil unless the segment is mixed, blob is nil unless the whole blob has been read.
func (f *Fetcher) openColumns(ctx context.Context, s *source.Segment, footer *segment.Footer, mixed *mixedReader, blob []byte) *segmentColumns {
	if footer.Columns == 0 || f.noColumns || !f.Matcher.ColumnConditions() && !f.fromColumns {
		return nil
	}
	fields := f.fieldsOf(s)
	sc := &segmentColumns{
		source: s, mixed: mixed, blob: blob, data: make(map[columns.Name]*columnData),
		sameParser: fields.Err == nil && fields.Parser.Stored() == s.Meta.Parse,
	}
	stored, err := f.columnRange(ctx, sc, footer.Columns, footer.ColumnsLength)
	if err == nil {
		sc.directory, err = footer.ParseColumns(stored)
	}
	if segment.IsDamage(err) && ctx.Err() == nil { // the cached bytes, or those of one response, may be damaged
		if stored, err = f.readStored(ctx, s, footer.Columns, footer.ColumnsLength); err == nil {
			sc.directory, err = footer.ParseColumns(stored)
		}
	}
	if err != nil {
		sc.note(ctx, f, err)
		return nil
	}
	return sc
}

// loadColumns reads the pages of blocks, in all columns that the step needs.
func (f *Fetcher) loadColumns(ctx context.Context, s *segmentColumns, blocks []segment.Block) {
	if len(blocks) == 0 {
		return
	}
	s.first, s.last = blocks[0].Index, blocks[len(blocks)-1].Index
	names := slices.Clone(f.columnNames)
	for _, b := range blocks {
		names = columns.AddNames(names, f.Matcher.ColumnNames(f.checksOf(s.source, b))...)
	}
	var group sync.WaitGroup
	for _, name := range names {
		if name.Fixed != "" || s.sameParser {
			group.Go(func() { s.load(ctx, f, name) })
		}
	}
	group.Wait()
}

// load reads the pages of a column on the first call; nil if there is no such column.
func (s *segmentColumns) load(ctx context.Context, f *Fetcher, name columns.Name) *columnData {
	c := s.directory.Find(name)
	if c == nil {
		return nil
	}
	s.mu.Lock()
	d := s.data[name]
	if d == nil {
		last := c.Pages[s.last]
		d = &columnData{from: c.Pages[s.first].Offset, end: last.Offset + last.Length}
		s.data[name] = d
	}
	s.mu.Unlock()
	d.once.Do(func() { d.data, d.err = f.columnRange(ctx, s, d.from, d.end-d.from) })
	return d
}

// note records once per segment that its columns cannot be read. It ignores a missing blob, which reading the text
// reports.
func (s *segmentColumns) note(ctx context.Context, f *Fetcher, err error) {
	if ctx.Err() == nil && !errors.Is(err, store.ErrNotFound) && !s.noted.Swap(true) {
		f.Recorder.Note("%s: %v; its text is read instead", s.source, err)
	}
}

// page returns the place of the page of a block, nil if it has none.
func (s *segmentColumns) page(name columns.Name, b segment.Block) *segment.ColumnPage {
	if name.Fixed == "" && !s.sameParser {
		return nil
	}
	c := s.directory.Find(name)
	if c == nil || c.Pages[b.Index].Length == 0 || name.Attribute && !c.Pages[b.Index].Attributes {
		return nil
	}
	return &c.Pages[b.Index]
}

// columnRange reads a range of the section of columns.
func (f *Fetcher) columnRange(ctx context.Context, s *segmentColumns, off, n int64) ([]byte, error) {
	if s.blob != nil {
		if off < 0 || n < 0 || off > int64(len(s.blob))-n {
			return nil, fmt.Errorf("columns are outside of the %d bytes", len(s.blob))
		}
		return s.blob[off : off+n], nil
	}
	return f.read(ctx, s.source, off, n)
}

// stored returns the stored bytes of the page of a block; nil if there is none or it cannot be read.
func (s *segmentColumns) stored(ctx context.Context, f *Fetcher, name columns.Name, b segment.Block) []byte {
	p := s.page(name, b)
	if p == nil {
		return nil
	}
	d := s.load(ctx, f, name)
	err := d.err
	if err == nil {
		stored := d.data[p.Offset-d.from:][:p.Length]
		if err = p.Check(stored); err == nil {
			return stored
		}
		if ctx.Err() == nil { // the cached bytes, or those of one response, may be damaged
			if stored, readErr := f.readOnly(ctx, s.source, p.Offset, p.Length); readErr == nil {
				if err = p.Check(stored); err == nil {
					return stored
				}
			}
		}
	}
	s.note(ctx, f, err)
	return nil
}

// blockColumns are the columns of one block, for one goroutine. It implements [rowset.Columns].
type blockColumns struct {
	ctx     context.Context
	f       *Fetcher
	segment *segmentColumns
	block   segment.Block
	decoder *columns.Decoder
	names   []columns.Name
	pages   []*columns.Page
}

// blockColumns returns the columns of a block, valid until the next call with the same worker.
func (f *Fetcher) blockColumns(ctx context.Context, w *worker, s *segmentColumns, b segment.Block) *blockColumns {
	w.decoder.Reset()
	return &blockColumns{ctx: ctx, f: f, segment: s, block: b, decoder: &w.decoder}
}

// Page implements [rowset.Columns].
func (c *blockColumns) Page(name columns.Name) *columns.Page {
	if i := slices.Index(c.names, name); i >= 0 {
		return c.pages[i]
	}
	var page *columns.Page
	if name.Fixed == field.Instance {
		page = c.instances()
	} else if stored := c.segment.stored(c.ctx, c.f, name, c.block); stored != nil {
		var err error
		if page, err = c.decoder.Page(stored, int(c.block.Records)); err != nil {
			c.note(name, err)
			page = nil
		}
	}
	c.names, c.pages = append(c.names, name), append(c.pages, page)
	return page
}

// Values implements [rowset.Columns].
func (c *blockColumns) Values(name columns.Name) *columns.Values {
	stored := c.segment.stored(c.ctx, c.f, name, c.block)
	if stored == nil {
		return nil
	}
	at := c.segment.page(name, c.block)
	v := &columns.Values{Least: at.Least, Greatest: at.Greatest}
	var err error
	v.Entries, v.Plane, err = columns.DecodeEntries(stored)
	if err != nil {
		c.note(name, err)
	}
	if len(v.Entries) == 0 { // damaged, or too many
		return nil
	}
	return v
}

// note records that a page cannot be decoded.
func (c *blockColumns) note(name columns.Name, err error) {
	c.segment.note(c.ctx, c.f, fmt.Errorf("column %s of block %d: %w", name, c.block.Index, err))
}

// instances makes the page of the records' instances, for a mixed segment from the instances of its parts. It is
// nil if the origins cannot be read, which reading the text reports, or if there are too many instances for a page.
func (c *blockColumns) instances() *columns.Page {
	text := func(instance string) message.Value {
		return message.Value{Kind: message.String, Text: []byte(instance)}
	}
	records := int(c.block.Records)
	mixed := c.segment.mixed
	if mixed == nil {
		return columns.Constant(text(c.segment.source.Meta.Instance), records)
	}
	origins, err := mixed.page(c.ctx, c.f, c.block)
	if err != nil || len(origins.IDs) != records {
		return nil
	}
	var entries []message.Value
	var instances []string
	entryOf := make([]uint8, len(origins.Parts)) // index into entries for each part
	for i, part := range origins.Parts {
		instance := mixed.parts[part].Meta.Instance
		at := slices.Index(instances, instance)
		if at < 0 {
			if at = len(instances); at == columns.MaxEntries {
				return nil
			}
			instances, entries = append(instances, instance), append(entries, text(instance))
		}
		entryOf[i] = uint8(at)
	}
	ids := make([]uint8, records)
	for i, id := range origins.IDs {
		ids[i] = entryOf[id]
	}
	return columns.Dictionary(entries, ids)
}

// Seconds implements [rowset.Columns].
func (c *blockColumns) Seconds() []columns.Run {
	name := columns.Name{Fixed: field.Time}
	stored := c.segment.stored(c.ctx, c.f, name, c.block)
	if stored == nil {
		return nil
	}
	runs, err := c.decoder.Seconds(stored, int(c.block.Records))
	if err != nil {
		c.note(name, err)
		return nil
	}
	return runs
}

// Form implements [rowset.Columns].
func (c *blockColumns) Form() message.Form { return c.segment.directory.Forms[c.block.Index] }
