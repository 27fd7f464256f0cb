package fetch

import (
	"bytes"
	"context"
	"sync"

	"logstow/query/source"

	"logstow/segment"
)

// outputReader finds the inputs of the records of an output of compaction.
type outputReader struct {
	output  *source.Segment
	origins *segment.Origins
	inputs  []source.Segment
	// first and last are the first and last block whose pages are read, in one request; first is -1 if there are none.
	first, last int
	once        sync.Once
	pages       []byte
	err         error
}

func newOutputReader(s *source.Segment, origins *segment.Origins) *outputReader {
	return &outputReader{output: s, origins: origins, inputs: s.Inputs(origins.Inputs), first: -1}
}

// add requests the pages of blocks, which are in order. It must not be called after page.
func (o *outputReader) add(blocks ...segment.Block) {
	for _, b := range blocks {
		if o.first < 0 {
			o.first = b.Index
		}
		o.last = max(o.last, b.Index)
	}
}

// page returns the page of a block, which add has requested. The first call reads all pages.
func (o *outputReader) page(ctx context.Context, f *Fetcher, b segment.Block) (*segment.BlockOrigins, error) {
	from, end := o.origins.Pages[o.first], o.origins.Pages[o.last]
	o.once.Do(func() { o.pages, o.err = f.read(ctx, o.output, from.Offset, end.Offset+end.Length-from.Offset) })
	if o.err != nil {
		return nil, o.err
	}
	p := o.origins.Pages[b.Index]
	ids, err := o.origins.DecodePage(o.pages[p.Offset-from.Offset:][:p.Length], b)
	if err == nil || ctx.Err() != nil {
		return ids, err
	}
	stored, readErr := f.readOnly(ctx, o.output, p.Offset, p.Length) // the cached bytes, or those of one response, may be damaged
	if readErr != nil {
		return nil, err
	}
	return o.origins.DecodePage(stored, b)
}

// A locator finds the inputs of the records of a block, from the first to the last. The zero value is for a block of a
// segment that is no output of compaction.
type locator struct {
	ids    *segment.BlockOrigins
	inputs []source.Segment
	skip   map[int]bool // excluded inputs
	text   []byte
	record int // the index of the last record
	at     int // its offset in text
	// beyond is set if a record was not found because the footer has fewer records than the text.
	beyond bool
}

// input returns the input of the record that starts at an offset of the text; not ok if the input is excluded. Offsets
// must not decrease.
func (l *locator) input(start int) (input int, ok bool) {
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
	input = l.ids.Input(l.record)
	return input, !l.skip[input]
}

// instance returns the instance of the record that starts at an offset of the text; "" if input is not ok.
func (l *locator) instance(start int) string {
	input, ok := l.input(start)
	if !ok {
		return ""
	}
	return l.inputs[input].Meta.Instance
}
