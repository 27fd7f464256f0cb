package fetch

import (
	"bytes"
	"context"
	"sync"

	"logstow/query/source"

	"logstow/segment"
)

// mixedReader finds the parts to which the records of an output of compaction, or of a segment of a relay, belong.
type mixedReader struct {
	mixed *source.Segment
	// parts are the parts of the inputs of an output, or the instances of a segment of a relay.
	parts []source.Segment
	// origins is nil for a segment of a relay: a block belongs to one part.
	origins *segment.Origins
	// first and last are the first and last block whose pages are read, in one request; first is -1 if there are none.
	first, last int
	once        sync.Once
	pages       []byte
	err         error
}

// newMixedReader makes a reader for an opened segment; nil if all its records are of its own instance.
func newMixedReader(s *source.Segment, footer *segment.Footer, origins *segment.Origins) *mixedReader {
	switch {
	case origins != nil:
		return &mixedReader{mixed: s, origins: origins, parts: s.Parts(origins), first: -1}
	case footer.Instances != nil:
		return &mixedReader{mixed: s, parts: s.Instances(footer)}
	}
	return nil
}

// mayHold reports whether a block may have records of a part for which may is true.
func (o *mixedReader) mayHold(b segment.Block, may func(source.Segment) bool) bool {
	return o == nil || o.origins != nil || may(o.parts[b.Instance])
}

// add requests the pages of blocks, which are in order. It must not be called after page.
func (o *mixedReader) add(blocks ...segment.Block) {
	for _, b := range blocks {
		if o.first < 0 {
			o.first = b.Index
		}
		o.last = max(o.last, b.Index)
	}
}

// page returns the page of a block, which add has requested. The first call reads all pages.
func (o *mixedReader) page(ctx context.Context, f *Fetcher, b segment.Block) (*segment.BlockOrigins, error) {
	if o.origins == nil {
		return &segment.BlockOrigins{Parts: []uint32{uint32(b.Instance)}, IDs: make([]uint32, b.Records)}, nil
	}
	from, end := o.origins.Pages[o.first], o.origins.Pages[o.last]
	o.once.Do(func() { o.pages, o.err = f.read(ctx, o.mixed, from.Offset, end.Offset+end.Length-from.Offset) })
	if o.err != nil {
		return nil, o.err
	}
	p := o.origins.Pages[b.Index]
	ids, err := o.origins.DecodePage(o.pages[p.Offset-from.Offset:][:p.Length], b)
	if err == nil || ctx.Err() != nil {
		return ids, err
	}
	stored, readErr := f.readOnly(ctx, o.mixed, p.Offset, p.Length) // the cached bytes, or those of one response, may be damaged
	if readErr != nil {
		return nil, err
	}
	return o.origins.DecodePage(stored, b)
}

// excluded reports whether a part is one of an excluded input.
func (o *mixedReader) excluded(part int) bool {
	return o.origins != nil && o.mixed.Excluded[o.origins.Parts[part].Input]
}

// kept returns the parts without those of excluded inputs.
func (o *mixedReader) kept() []source.Segment {
	if len(o.mixed.Excluded) == 0 {
		return o.parts
	}
	var kept []source.Segment
	for i := range o.parts {
		if !o.excluded(i) {
			kept = append(kept, o.parts[i])
		}
	}
	return kept
}

// A locator finds the parts to which the records of a block belong, from the first to the last. The zero value is for a block of a
// segment whose records are all of its own instance.
type locator struct {
	ids    *segment.BlockOrigins
	reader *mixedReader
	text   []byte
	record int // the index of the last record
	at     int // its offset in text
	// beyond is set if a record was not found because the footer has fewer records than the text.
	beyond bool
}

// part returns the part of the record that starts at an offset of the text; not ok if its input is excluded. Offsets
// must not decrease.
func (l *locator) part(start int) (part int, ok bool) {
	if l.ids == nil {
		return 0, true
	}
	between := l.text[l.at:start]
	l.record += bytes.Count(between, []byte("\n")) - bytes.Count(between, []byte("\n\t"))
	l.at = start
	if l.record >= len(l.ids.IDs) {
		l.beyond = true
		return 0, false
	}
	part = l.ids.Part(l.record)
	return part, !l.reader.excluded(part)
}

// instance returns the instance of the record that starts at an offset of the text; "" if part is not ok.
func (l *locator) instance(start int) string {
	part, ok := l.part(start)
	if !ok {
		return ""
	}
	return l.reader.parts[part].Meta.Instance
}
