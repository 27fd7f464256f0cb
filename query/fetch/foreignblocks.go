package fetch

import (
	"cmp"
	"maps"
	"slices"

	"logstow/blobnaming"
	"logstow/record"
	"logstow/segment"
)

// blockBuilder makes blocks of the matching records of a foreign segment, in scratch, and a footer for them.
type blockBuilder struct {
	compressor func() *segment.Compressor
	scratch    *scratchBlocks
	text       []byte
	spans      []recordSpan
	block      segment.Block
	sorted     []byte // scratch
	sources    map[string]bool
	minutes    map[int64]*record.Counts
	footer     *segment.Footer
}

func newBlockBuilder(meta blobnaming.Metadata, scratch *scratchBlocks, compressor func() *segment.Compressor) *blockBuilder {
	return &blockBuilder{
		compressor: compressor, scratch: scratch, sources: map[string]bool{}, minutes: map[int64]*record.Counts{},
		footer: &segment.Footer{Metadata: meta},
	}
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
	c.spans = append(c.spans, recordSpan{r.Time, at, len(c.text)})
	c.block.Start, c.block.End = min(c.block.Start, r.Time), max(c.block.End, r.Time)
	c.block.Levels[r.Level]++
	if len(c.sources) <= segment.MaxSources {
		c.sources[r.Source] = true
	}
	minute := record.MinuteOf(r.Time)
	if c.minutes[minute] == nil {
		c.minutes[minute] = &record.Counts{}
	}
	c.minutes[minute][r.Level]++
	return nil
}

// flush ends a block: it sorts the records by time, compresses them and adds them to scratch.
func (c *blockBuilder) flush() error {
	if len(c.spans) == 0 {
		return nil
	}
	text := c.text
	byTime := func(a, b recordSpan) int { return cmp.Compare(a.time, b.time) }
	if !slices.IsSortedFunc(c.spans, byTime) {
		slices.SortStableFunc(c.spans, byTime)
		c.sorted = c.sorted[:0]
		for _, p := range c.spans {
			c.sorted = append(c.sorted, c.text[p.start:p.end]...)
		}
		text = c.sorted
	}
	stored := c.compressor().Encode(nil, text)
	off, err := c.scratch.add(stored)
	if err != nil {
		return err
	}
	b := c.block
	b.Index, b.Offset, b.Stored, b.Raw, b.Records = len(c.footer.Blocks), off, int64(len(stored)), int64(len(text)), uint64(len(c.spans))
	b.Hash = segment.HashOf(stored)
	c.footer.Blocks = append(c.footer.Blocks, b)
	c.text, c.spans, c.block = c.text[:0], c.spans[:0], segment.Block{}
	return nil
}

// end flushes the last block and returns the footer.
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

// recordSpan is a record in the text of a [blockBuilder].
type recordSpan struct {
	time       int64
	start, end int
}
