package columns

import (
	"cmp"
	"hash/maphash"
	"math/bits"
	"slices"

	"logstow/field"
	"logstow/message"
	"logstow/message/parse"
	"logstow/record"
)

const (
	// defaultShare is the maximum size of the columns that the builder chooses, as a fraction of the stored size of the
	// blocks; namedShare is that of all columns, named ones included.
	defaultShare, namedShare = 0.05, 0.15
	// maxCandidates is the maximum number of fields whose values are collected, maxUnnamed the maximum number of
	// columns besides named ones.
	maxCandidates, maxUnnamed = 64, MaxColumns - MaxNamed
	// sampleRecords is the number of records of the first block in which candidates are counted. A candidate occurs in
	// at least minCoverage of them.
	sampleRecords = 1000
	minCoverage   = 0.05
	// After trialBlocks blocks, a column is dropped if more than half of its blocks have no page, or if it would not be
	// chosen even with a limit trialFactor times as large. This also bounds the memory that pages take.
	trialBlocks = 4
	trialFactor = 1.5
	// placeSize is the approximate size in bytes of a page's directory entry without its bounds.
	placeSize = 10
)

// Options determine which columns a segment gets.
type Options struct {
	// Named are fields of the message that get a column even if it is large. Only the first [MaxNamed] count.
	Named []string
	// MinText is the minimum size in bytes of the text of a segment with columns.
	MinText int64
	// Share is the maximum size of the columns as a fraction of the stored size of the blocks. 0 is 0.05, or 0.15
	// including named columns.
	Share float64
}

// limits returns the maximum size of the columns, without and with named ones, as fractions of the stored size.
func (o *Options) limits() (unnamed, withNamed float64) {
	if o.Share > 0 {
		return o.Share, max(o.Share, namedShare)
	}
	return defaultShare, namedShare
}

// Builder collects the columns of a segment, block by block. Not safe for concurrent use.
type Builder struct {
	// limit and limitNamed are the results of [Options.limits].
	limit, limitNamed float64

	named    []string
	parser   *parse.Parser
	splitter *parse.Splitter // of the fields in columns
	columns  []*column       // of fields of the message
	fixed    []*column       // level and source
	seconds  column
	seed     maphash.Seed
	blocks   int
	stored   int64
	forms    []message.Form // of each block
	// names are those of the attributes of the block being added.
	names AttributeNames
}

// Scratch is memory for encoding the pages of one block, about 1 MiB. The zero value is ready to use. Several Builders
// may use it in turn.
type Scratch struct {
	collectors []*collector
	enc        encoder
	message    record.Message
	offsets    []uint32
}

// collector returns the i-th collector, reset.
func (s *Scratch) collector(i int, named bool) *collector {
	for i >= len(s.collectors) {
		s.collectors = append(s.collectors, new(collector))
	}
	s.collectors[i].reset(named)
	return s.collectors[i]
}

// column is a column being collected.
type column struct {
	*collector // of the block being added
	// inMessage is set if a message in the block has one of the values.
	inMessage  bool
	name       Name
	named      bool
	pages      []encoded // one for each block so far; its page is nil if the values do not fit one
	attributes []bool    // for each page, as in [Column]
	size       int64     // in bytes, including its directory entries
}

// NewBuilder makes a builder. stored is the parser of the messages as in [blobnaming.Metadata.Parse]; if its version is
// unknown, there are no columns of fields.
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

// AddBlock adds the next block: its text and number of records, its start in Unix nanoseconds, and its stored size in
// bytes. If a line is not a record, the block gets no pages. AddBlock retains neither s nor text.
func (b *Builder) AddBlock(s *Scratch, text []byte, records int, start, stored int64) {
	if b.blocks == 0 {
		b.choose(s, text)
	}
	all := b.all()
	for i, c := range all {
		c.collector, c.inMessage = s.collector(i, c.named), false
	}
	b.names.Reset()
	s.offsets = s.offsets[:0]
	form, ok := b.collect(s, text, start)
	if ok = ok && len(s.offsets) == records; !ok {
		form = message.NoForm
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
		c.attributes = append(c.attributes,
			p.page != nil && c.name.Field != "" && !c.inMessage && b.names.Any() && b.names.Only(c.name.Field))
		c.size += int64(len(p.page) + placeSize + len(p.least) + len(p.greatest))
	}
	if b.blocks >= trialBlocks && bits.OnesCount(uint(b.blocks)) == 1 {
		b.giveUp()
	}
}

// all returns all columns.
func (b *Builder) all() []*column {
	return append(append([]*column{&b.seconds}, b.fixed...), b.columns...)
}

// collect adds the records of a block and returns the form that all its messages have. It is not ok if a line is not a
// record.
func (b *Builder) collect(s *Scratch, text []byte, start int64) (form message.Form, ok bool) {
	base := FloorSecond(start)
	first := len(b.columns) > 0
	for len(text) > 0 {
		line, rest, err := record.Next(text)
		if err != nil {
			return message.NoForm, false
		}
		text = rest
		s.offsets = append(s.offsets, TickOf(line.Time, base))
		level, source := LevelValue(line.Level), message.Value{Kind: message.String, Text: line.Source}
		b.fixed[0].add(&level, b.seed)
		b.fixed[1].add(&source, b.seed)
		if len(b.columns) == 0 {
			continue
		}
		b.split(s, &line)
		b.names.Add(line.Attributes)
		values := b.splitter.Values()
		for i, c := range b.columns {
			if c.failed {
				continue
			}
			c.add(&values[i], b.seed)
			c.inMessage = c.inMessage || values[i].Kind != message.Missing && !b.splitter.IsAttribute(i)
		}
		if of := b.splitter.Form(); first {
			form, first = of, false
		} else if of != form {
			form = message.NoForm
		}
	}
	return form, true
}

// split splits a stored record into fields.
func (b *Builder) split(s *Scratch, line *record.Line) {
	s.message.Decode(line.Raw)
	b.splitter.Split(line.Attributes, s.message)
}

// FloorSecond converts Unix nanoseconds to Unix seconds, rounding down.
func FloorSecond(t int64) int64 {
	s := t / 1e9
	if t%1e9 < 0 {
		s--
	}
	return s
}

// LevelValue is the value of a level in its column: a record without a level has none.
func LevelValue(l record.Level) message.Value {
	if l == record.None {
		return message.Value{}
	}
	return message.Value{Kind: message.String, Text: []byte(l.String())}
}

// choose picks the candidates by the first block.
func (b *Builder) choose(s *Scratch, text []byte) {
	if b.parser == nil {
		return
	}
	names := append(slices.Clone(b.named), b.frequent(s, text)...)
	for i, name := range names[:min(len(names), maxCandidates)] {
		b.columns = append(b.columns, &column{name: Name{Field: name}, named: i < len(b.named)})
	}
	b.newSplitter()
}

// frequent returns the fields that occur in many records at the start of a text, the most frequent first, without
// named ones.
func (b *Builder) frequent(s *Scratch, text []byte) []string {
	b.splitter = b.parser.Splitter()
	counts := make(map[string]int)
	n := 0
	for ; n < sampleRecords && len(text) > 0; n++ {
		line, rest, err := record.Next(text)
		if err != nil {
			break
		}
		text = rest
		b.split(s, &line)
		seen := make(map[string]bool)
		for name, v := range b.splitter.All() {
			if v.Kind != message.Composite && len(name) <= MaxName && !seen[name] {
				seen[name] = true
				counts[name]++
			}
		}
	}
	var names []string
	for name, count := range counts {
		if float64(count) >= minCoverage*float64(n) && !slices.Contains(b.named, name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(x, y string) int { return cmp.Or(counts[y]-counts[x], cmp.Compare(x, y)) })
	return names
}

// newSplitter makes the splitter for the fields in columns.
func (b *Builder) newSplitter() {
	names := make([]string, len(b.columns))
	for i, c := range b.columns {
		names[i] = c.name.Field
	}
	b.splitter = b.parser.Splitter(names...)
	b.splitter.CheckForm()
}

// giveUp drops columns that are unlikely to be chosen, and their pages.
func (b *Builder) giveUp() {
	n := len(b.columns)
	likely := b.chosen(trialFactor)
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

// A Column is a column to store.
type Column struct {
	Name Name
	// Pages has a page for each block; nil if the block has none, so that its text must be read.
	Pages [][]byte
	// Least and Greatest are, for each page, the least and the greatest number in it as written; empty if it has no
	// numbers.
	Least, Greatest []string
	// Attributes has true for each page whose values are all those of attributes: no message in the block has the field, and no other
	// attribute in it has the field's label (see [message.LabelName]), nor one of the same name in another object.
	Attributes []bool
}

// Columns returns the columns that the segment gets: fixed fields first, then by name. Their size is limited by
// [Options]: fixed fields are preferred, then smaller columns.
func (b *Builder) Columns() []Column {
	chosen := b.chosen(1)
	slices.SortFunc(chosen, func(x, y *column) int {
		return cmp.Or(cmp.Compare(y.name.Fixed, x.name.Fixed), cmp.Compare(x.name.Field, y.name.Field))
	})
	columns := make([]Column, len(chosen))
	for i, c := range chosen {
		columns[i].Name, columns[i].Attributes = c.name, c.attributes
		for _, p := range c.pages {
			columns[i].Pages = append(columns[i].Pages, p.page)
			columns[i].Least = append(columns[i].Least, p.least)
			columns[i].Greatest = append(columns[i].Greatest, p.greatest)
		}
	}
	return columns
}

// Forms returns the form that all messages of a block have, for each block, or [message.NoForm]. Parsers of that form find
// the values that the columns have.
func (b *Builder) Forms() []message.Form { return b.forms }

// chosen returns the columns that the segment would get if it ended now, with limits multiplied by factor: fixed fields
// first, then the smallest.
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
			if c.named == named && float64(size+c.size) <= factor*limit*float64(b.stored) && (named || len(chosen) < maxUnnamed) {
				chosen = append(chosen, c)
				size += c.size
			}
		}
	}
	return chosen
}

// Size is the approximate size of the columns in bytes if the segment ended now.
func (b *Builder) Size() (n int64) {
	for _, c := range b.chosen(1) {
		n += c.size
	}
	return n
}
