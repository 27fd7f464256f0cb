package columns

import (
	"cmp"
	"hash/maphash"
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
	// considered is the number of fields that are considered, kept that of columns besides those that are named.
	considered, kept = 64, MaxColumns - MaxNamed
	// sampled is the number of records of a block whose fields are looked for, coverage the part of them
	// that a field is in at least.
	sampled  = 1000
	coverage = 0.05
	// trial is the number of blocks after which columns are given up that have no page in half of them, or would
	// not be chosen even if lenience times as much could be taken. Pages in memory take about that at most.
	trial    = 4
	lenience = 1.5
	// placeSize is about the size in bytes of a page's place in the directory, besides its bounds.
	placeSize = 10
)

// Options determine which columns a segment gets.
type Options struct {
	// Named are names of fields of the message that get a column even if it is large; of more than [MaxNamed]
	// the first ones.
	Named []string
	// MinText is the length in bytes of the text below which a segment gets no columns.
	MinText int64
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
	// limit and limitNamed are those of [Options.limits].
	limit, limitNamed float64

	named    []string
	parser   *parse.Parser
	splitter *parse.Splitter // of the columns of fields that are not given up
	columns  []*column       // those of fields
	fixed    []*column       // level and source
	seconds  column
	seed     maphash.Seed
	blocks   int
	stored   int64
	forms    []field.Form // of each block
}

// Scratch is the memory in which the pages of one block are made: a megabyte or so. The zero value is ready to use.
// It may be used for the blocks of several Builders, one after the other.
type Scratch struct {
	collectors []*collector
	enc        encoder
	message    []byte
	offsets    []uint32
}

// collector is an empty collector, the same for the same i.
func (s *Scratch) collector(i int) *collector {
	for i >= len(s.collectors) {
		s.collectors = append(s.collectors, new(collector))
	}
	s.collectors[i].reset()
	return s.collectors[i]
}

// column is a column being collected.
type column struct {
	*collector // of the block being added
	name       Name
	named      bool
	pages      []encoded // of the blocks so far; without a page where none fits
	size       int64     // in bytes, its part of the directory included
}

// NewBuilder makes a builder for messages of a parser, as a footer has it. There are no columns of fields
// if its version is unknown.
func NewBuilder(stored string, opts Options) *Builder {
	b := &Builder{seconds: column{name: Name{Fixed: field.Time}}, seed: maphash.MakeSeed()}
	b.limit, b.limitNamed = opts.limits()
	for _, name := range opts.Named {
		if len(name) <= MaxName && len(b.named) < MaxNamed && !slices.Contains(b.named, name) {
			b.named = append(b.named, name)
		}
	}
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
// without pages. Nothing of s is kept.
func (b *Builder) AddBlock(s *Scratch, text []byte, records int, start, stored int64) {
	if b.blocks == 0 {
		b.choose(s, text)
	}
	all := b.all()
	for i, c := range all {
		c.collector = s.collector(i)
	}
	s.offsets = s.offsets[:0]
	form, ok := b.collect(s, text, start)
	if ok = ok && len(s.offsets) == records; !ok {
		form = field.NoForm
	}
	b.forms = append(b.forms, form)
	b.blocks++
	b.stored += stored
	for _, c := range all {
		var p encoded
		if ok {
			if c == &b.seconds {
				p.page = s.enc.appendSeconds(nil, s.offsets)
			} else {
				p, _ = c.page(&s.enc)
			}
		}
		c.collector = nil
		c.pages = append(c.pages, p)
		c.size += int64(len(p.page) + placeSize + len(p.least) + len(p.greatest))
	}
	if b.blocks >= trial && bits.OnesCount(uint(b.blocks)) == 1 {
		b.giveUp()
	}
}

// all are all columns.
func (b *Builder) all() []*column {
	return append(append([]*column{&b.seconds}, b.fixed...), b.columns...)
}

// collect adds the records of a block; it is not ok if a line is none. form is what [Builder.Forms] has of it.
func (b *Builder) collect(s *Scratch, text []byte, start int64) (form field.Form, ok bool) {
	base := FloorSecond(start)
	first := len(b.columns) > 0
	for len(text) > 0 {
		line, rest, err := record.Next(text)
		if err != nil {
			return field.NoForm, false
		}
		text = rest
		s.offsets = append(s.offsets, uint32(FloorSecond(line.Time)-base))
		level, source := LevelValue(line.Level), field.Value{Kind: field.String, Text: line.Source}
		b.fixed[0].add(&level, b.seed)
		b.fixed[1].add(&source, b.seed)
		if len(b.columns) == 0 {
			continue
		}
		b.split(s, line.Raw)
		values := b.splitter.Values()
		for i, c := range b.columns {
			if !c.failed {
				c.add(&values[i], b.seed)
			}
		}
		if of := b.splitter.Form(); first {
			form, first = of, false
		} else if of != form {
			form = field.NoForm
		}
	}
	return form, true
}

// split makes a stored message the splitter's.
func (b *Builder) split(s *Scratch, raw []byte) {
	s.message = record.AppendMessage(s.message[:0], raw)
	b.splitter.Split(s.message)
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
func (b *Builder) choose(s *Scratch, text []byte) {
	if b.parser == nil {
		return
	}
	names := append(slices.Clone(b.named), b.frequent(s, text)...)
	for i, name := range names[:min(len(names), considered)] {
		b.columns = append(b.columns, &column{name: Name{Field: name}, named: i < len(b.named)})
	}
	b.newSplitter()
}

// frequent are the fields that many records at the start of a text have, the most frequent first, without
// named ones.
func (b *Builder) frequent(s *Scratch, text []byte) []string {
	b.splitter = b.parser.Splitter()
	counts := make(map[string]int)
	n := 0
	for ; n < sampled && len(text) > 0; n++ {
		line, rest, err := record.Next(text)
		if err != nil {
			break
		}
		text = rest
		b.split(s, line.Raw)
		seen := make(map[string]bool)
		for name, v := range b.splitter.All() {
			if v.Kind != field.Composite && len(name) <= MaxName && !seen[name] {
				seen[name] = true
				counts[name]++
			}
		}
	}
	var names []string
	for name, count := range counts {
		if float64(count) >= coverage*float64(n) && !slices.Contains(b.named, name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(x, y string) int { return cmp.Or(counts[y]-counts[x], cmp.Compare(x, y)) })
	return names
}

// newSplitter makes the splitter of the columns.
func (b *Builder) newSplitter() {
	names := make([]string, len(b.columns))
	for i, c := range b.columns {
		names[i] = c.name.Field
	}
	b.splitter = b.parser.Splitter(names...)
	b.splitter.CheckForm()
}

// giveUp gives columns up that are hardly going to be chosen, and the memory of their pages.
func (b *Builder) giveUp() {
	n := len(b.columns)
	likely := b.chosen(lenience)
	b.columns = slices.DeleteFunc(b.columns, func(c *column) bool {
		pages := 0
		for _, p := range c.pages {
			if p.page != nil {
				pages++
			}
		}
		return pages*2 < len(c.pages) || !slices.Contains(likely, c)
	})
	if len(b.columns) < n {
		b.newSplitter()
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
// at most 15%: those of fixed fields are preferred, and smaller ones.
func (b *Builder) Columns() []Column {
	chosen := b.chosen(1)
	slices.SortFunc(chosen, func(x, y *column) int {
		return cmp.Or(cmp.Compare(y.name.Fixed, x.name.Fixed), cmp.Compare(x.name.Field, y.name.Field))
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

// Forms are, for each block, the form of all of its messages, in which parsers of that form find the values of the columns. It is for the
// names of all columns.
func (b *Builder) Forms() []field.Form { return b.forms }

// chosen are the columns that the segment gets if it ended now: those of fixed fields, then the smallest. They may be
// larger by a factor.
func (b *Builder) chosen(factor float64) []*column {
	all := slices.DeleteFunc(b.all(), func(c *column) bool {
		return !slices.ContainsFunc(c.pages, func(p encoded) bool { return p.page != nil })
	})
	slices.SortStableFunc(all, func(x, y *column) int {
		if (x.name.Fixed == "") != (y.name.Fixed == "") {
			return cmp.Compare(y.name.Fixed, x.name.Fixed)
		}
		return cmp.Compare(x.size, y.size)
	})
	var chosen []*column
	size := int64(0)
	for _, named := range []bool{false, true} {
		limit := b.limit
		if named {
			limit = b.limitNamed
		}
		for _, c := range all {
			if c.named == named && float64(size+c.size) <= factor*limit*float64(b.stored) && (named || len(chosen) < kept) {
				chosen = append(chosen, c)
				size += c.size
			}
		}
	}
	return chosen
}

// Size is about the size of the columns in bytes if the segment ended now.
func (b *Builder) Size() (n int64) {
	for _, c := range b.chosen(1) {
		n += c.size
	}
	return n
}
