package columns

import (
	"cmp"
	"math/bits"
	"slices"

	"logstow/field"
	"logstow/field/parse"
	"logstow/record"
)

const (
	// share and shareNamed are the parts of the stored size that columns may take: those chosen by
	// the builder, and with those that are named.
	share, shareNamed = 0.05, 0.15
	// considered is the number of fields that are considered, kept that of chosen ones.
	considered, kept = 64, 32
	// sampled is the number of records of a block whose fields are looked for, coverage the part of them
	// that a field is in at least.
	sampled  = 1000
	coverage = 0.05
	// trial is the number of blocks after which columns without a page in half of them, or too large
	// to be chosen, are given up.
	trial = 4
)

// Options determine which columns a segment gets.
type Options struct {
	// Named are names of fields of the message that get a column even if it is large.
	Named []string
	// OnlyNamed is set if other fields get none.
	OnlyNamed bool
	// Share is the part of the stored size that columns may take; 0 is 0.05, and 0.15 with those that are
	// named.
	Share float64
}

// limits are the parts of the stored size that columns may take, without and with those that are named.
func (o *Options) limits() (all, withNamed float64) {
	if o.Share > 0 {
		return o.Share, max(o.Share, shareNamed)
	}
	return share, shareNamed
}

// Builder collects the columns of a segment, block by block. Not safe for concurrent use.
type Builder struct {
	opts     Options
	parser   *parse.Parser
	splitter *parse.Splitter
	columns  []*column // those of fields in the order of the splitter
	fixed    []*column // level and source
	seconds  column
	enc      encoder
	blocks   int
	stored   int64
	message  []byte
	offsets  []uint32
}

// column is a column being collected.
type column struct {
	collector
	name  Name
	named bool
	index int       // in the splitter
	pages []encoded // of the blocks so far; without a page where none fits
	size  int64
	given bool // up
}

// NewBuilder makes a builder for messages of a parser, as a footer has it. There are no columns of fields
// if this program does not know its version.
func NewBuilder(stored string, opts Options) *Builder {
	b := &Builder{opts: opts, seconds: column{name: Name{Fixed: field.Time}}}
	for _, name := range []field.Fixed{field.Level, field.Source} {
		b.fixed = append(b.fixed, &column{name: Name{Fixed: name}})
	}
	if p, err := parse.CompileStored(stored); err == nil {
		b.parser = p
	}
	return b
}

// AddBlock adds the next block: its text of so many records, which is not kept, the time at which it starts
// in Unix nanoseconds, and the number of bytes in which it is stored. A line that is no record leaves the block
// without pages.
func (b *Builder) AddBlock(text []byte, records int, start, stored int64) {
	if b.blocks == 0 {
		b.choose(text)
	}
	for _, c := range b.all() {
		c.reset()
	}
	b.offsets = b.offsets[:0]
	ok := b.collect(text, start) && len(b.offsets) == records
	b.blocks++
	b.stored += stored
	for _, c := range b.all() {
		var p encoded
		if ok && !c.given {
			if c == &b.seconds {
				p.page = appendSeconds(nil, b.offsets)
			} else {
				p, _ = c.page(&b.enc)
			}
		}
		c.pages = append(c.pages, p)
		c.size += int64(len(p.page))
	}
	if b.blocks >= trial && bits.OnesCount(uint(b.blocks)) == 1 {
		b.giveUp()
	}
}

// all are all columns.
func (b *Builder) all() []*column {
	return append(append([]*column{&b.seconds}, b.fixed...), b.columns...)
}

// collect adds the records of a block; it is not ok if a line is none.
func (b *Builder) collect(text []byte, start int64) bool {
	base := FloorSecond(start)
	for len(text) > 0 {
		line, rest, err := record.Next(text)
		if err != nil {
			return false
		}
		text = rest
		b.offsets = append(b.offsets, uint32(FloorSecond(line.Time)-base))
		b.fixed[0].add(LevelValue(line.Level))
		b.fixed[1].add(field.Value{Kind: field.String, Text: line.Source})
		if len(b.columns) == 0 {
			continue
		}
		b.split(line.Raw)
		for _, c := range b.columns {
			if !c.failed && !c.given {
				c.add(b.splitter.Value(c.index))
			}
		}
	}
	return true
}

// split makes a stored message the splitter's.
func (b *Builder) split(raw []byte) {
	b.message = record.AppendMessage(b.message[:0], raw)
	b.splitter.Split(b.message)
}

// FloorSecond is the second in which a time in Unix nanoseconds is.
func FloorSecond(t int64) int64 {
	s := t / 1e9
	if t%1e9 < 0 {
		s--
	}
	return s
}

// LevelValue is the value of a level in its column: a record without a level has none.
func LevelValue(l record.Level) field.Value {
	if l == record.None {
		return field.Value{}
	}
	return field.Value{Kind: field.String, Text: []byte(l.String())}
}

// choose decides which fields are considered, by the first block.
func (b *Builder) choose(text []byte) {
	if b.parser == nil {
		return
	}
	counts := make(map[string]int)
	if !b.opts.OnlyNamed {
		b.splitter = b.parser.Splitter()
		n := 0
		for ; n < sampled && len(text) > 0; n++ {
			line, rest, err := record.Next(text)
			if err != nil {
				break
			}
			text = rest
			b.split(line.Raw)
			seen := make(map[string]bool)
			for name, v := range b.splitter.All() {
				if v.Kind != field.Composite && len(name) <= MaxName && !seen[name] {
					seen[name] = true
					counts[name]++
				}
			}
		}
		for name, count := range counts {
			if float64(count) < coverage*float64(n) || slices.Contains(b.opts.Named, name) {
				delete(counts, name)
			}
		}
	}
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int { return cmp.Or(counts[y]-counts[x], cmp.Compare(x, y)) })
	names = append(slices.Clone(b.opts.Named), names...)
	for i, name := range names[:min(len(names), considered)] {
		b.columns = append(b.columns, &column{name: Name{Field: name}, named: i < len(b.opts.Named), index: i})
	}
	b.splitter = b.parser.Splitter(names[:len(b.columns)]...)
}

// giveUp gives columns up that are not going to be chosen.
func (b *Builder) giveUp() {
	all, named := b.opts.limits()
	for _, c := range b.columns {
		if c.given {
			continue
		}
		pages := 0
		for _, p := range c.pages {
			if p.page != nil {
				pages++
			}
		}
		limit := all
		if c.named {
			limit = named
		}
		if c.given = pages*2 < len(c.pages) || float64(c.size) > 2*limit*float64(b.stored); c.given {
			c.pages, c.size = nil, 0
		}
	}
}

// A Column is a column as it is stored.
type Column struct {
	Name Name
	// Pages has a page for each block; nil where the block's text has to be read.
	Pages [][]byte
	// Least and Greatest are, for each page, the least and the greatest number in it as written, empty
	// if there is none.
	Least, Greatest []string
}

// Columns are the columns that the segment gets, in the order of their names, those of fixed fields
// first. Their size is at most a twentieth of what is stored otherwise, with those that are named
// at most 15%: smaller ones are preferred.
func (b *Builder) Columns() []Column {
	var chosen []*column
	for _, c := range b.all() {
		if !c.given && c.size > 0 {
			chosen = append(chosen, c)
		}
	}
	slices.SortStableFunc(chosen, func(x, y *column) int { return cmp.Compare(x.size, y.size) })
	limit, limitNamed := b.opts.limits()
	size, all, n := int64(0), int64(0), 0
	chosen = slices.DeleteFunc(chosen, func(c *column) bool {
		if c.named {
			return false
		}
		if float64(size+c.size) > limit*float64(b.stored) || n == kept {
			return true
		}
		size += c.size
		all += c.size
		n++
		return false
	})
	chosen = slices.DeleteFunc(chosen, func(c *column) bool {
		if !c.named {
			return false
		}
		if float64(all+c.size) > limitNamed*float64(b.stored) {
			return true
		}
		all += c.size
		return false
	})
	slices.SortFunc(chosen, func(x, y *column) int {
		return cmp.Or(cmp.Compare(x.name.Fixed, y.name.Fixed)*-1, cmp.Compare(x.name.Field, y.name.Field))
	})
	columns := make([]Column, len(chosen))
	for i, c := range chosen {
		columns[i].Name = c.name
		for _, p := range c.pages {
			columns[i].Pages = append(columns[i].Pages, p.page)
			columns[i].Least = append(columns[i].Least, p.least)
			columns[i].Greatest = append(columns[i].Greatest, p.greatest)
		}
	}
	return columns
}

// Size is about the size of the columns in bytes if the segment ended now.
func (b *Builder) Size() (n int64) {
	for _, c := range b.all() {
		n += c.size
	}
	_, limit := b.opts.limits()
	return min(n, int64(limit*float64(b.stored)))
}
