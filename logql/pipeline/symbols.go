package pipeline

import (
	"slices"
	"strings"
	"unicode/utf8"

	"logstow/logql/labels"
)

// A category is where a label comes from.
type category uint8

const (
	streamLabel category = iota
	metadataLabel
)

// A symbol is a label name, with its value in the current stream and in the current record.
type symbol struct {
	name   string
	wanted bool
	// reserved is set for names that parsed labels cannot have.
	reserved  bool
	extracted *symbol // of the name with the suffix _extracted; nil until needed
	of        *symbol // of the name without that suffix; nil for others

	// The value of the stream, if stream is the current one.
	stream   uint64
	base     string
	category category

	// The value that stages made, if record is the current one: removed, or one of text and str.
	record  uint64
	removed bool
	parsed  bool // by a parser
	field   bool // by the parser of the stream
	text    []byte
	str     string
	isStr   bool

	fieldKnown, fieldWanted bool // whether it is read as a field

	last         string // the last string that was made of text
	hits, misses uint32 // of interning
}

// streamValue is a label of a stream, resolved.
type streamValue struct {
	sym      *symbol
	value    string
	category category
}

// Bounds of the memory of a processor.
const (
	maxSymbols  = 16 << 10
	maxStreams  = 1024
	maxInterned = 8 << 10
	// maxNames is the number of bytes that the keys of parsers take.
	maxNames = 8 << 20
	// maxInternedSize is the length of the longest value that is interned.
	maxInternedSize = 64
	// maxKeptSize is the maximum length of a value that is kept after its record.
	maxKeptSize = 1 << 10
	// maxParsed is the maximum number of labels that parsers add to a record.
	maxParsed = 1000
)

const (
	extractedSuffix = "_extracted"
	parseLimit      = "more than 1000 labels in a record"
)

// symbols are the labels of the current record.
type symbols struct {
	byName     map[string]*symbol
	wanted     []*symbol
	all, exact bool
	named      map[string]bool

	err, errDetails *symbol

	streamID, recordID uint64
	current            *Stream
	values             []streamValue
	streams            map[*Stream][]streamValue

	// touched are the symbols that stages changed in the record, changedBase is set if one of them is of the stream. parsedCount
	// is the number of labels added by parsers.
	touched     []*symbol
	changedBase bool
	parsedCount int
	// skipped is at least the number of labels that parsers did not add because they are not wanted.
	skipped int

	interned map[string]string
	out      output
}

func newSymbols(pipeline *Pipeline) symbols {
	p := symbols{
		byName: map[string]*symbol{}, streams: map[*Stream][]streamValue{}, interned: map[string]string{},
		all: pipeline.all, exact: pipeline.exact, named: pipeline.named,
	}
	p.err, p.errDetails = p.symbol(labels.Error), p.symbol(labels.ErrorDetails)
	p.err.reserved, p.errDetails.reserved = true, true
	for _, name := range pipeline.wanted {
		s := p.symbol(name)
		s.wanted = true
		if !s.reserved {
			p.wanted = append(p.wanted, s)
		}
	}
	return p
}

// symbol returns the symbol of a name.
func (p *symbols) symbol(name string) *symbol {
	s := p.byName[name]
	if s == nil {
		s = &symbol{name: name, wanted: p.all}
		p.byName[name] = s
	}
	return s
}

// begin makes a record of a stream the current one.
func (p *symbols) begin(stream *Stream) {
	p.recordID++
	for _, s := range p.touched {
		if s.text = nil; len(s.str) > maxKeptSize || len(s.last) > maxKeptSize {
			s.str, s.last = "", ""
		}
	}
	p.touched, p.changedBase, p.parsedCount, p.skipped = p.touched[:0], false, 0, 0
	if stream == p.current {
		return
	}
	p.current = stream
	p.streamID++
	values, ok := p.streams[stream]
	if !ok {
		if len(p.streams) >= maxStreams {
			clear(p.streams)
		}
		for _, l := range stream.Labels {
			values = append(values, streamValue{p.symbol(l.Name), l.Value, streamLabel})
		}
		for _, l := range stream.Metadata {
			values = append(values, streamValue{p.symbol(l.Name), l.Value, metadataLabel})
		}
		p.streams[stream] = values
	}
	p.values = values
	for i := range values {
		v := &values[i]
		if v.sym.stream != p.streamID { // the stream's label goes before metadata of the same name
			v.sym.stream, v.sym.base, v.sym.category = p.streamID, v.value, v.category
		}
	}
}

// inBase reports whether the stream has a label.
func (p *symbols) inBase(s *symbol) bool { return s.stream == p.streamID }

// has reports whether the record has a label, which may be empty.
func (p *symbols) has(s *symbol) bool {
	if s.record == p.recordID {
		return !s.removed
	}
	return p.inBase(s)
}

// touch marks a symbol as different from the stream in the current record.
func (p *symbols) touch(s *symbol) {
	if s.record != p.recordID {
		s.record = p.recordID
		p.touched = append(p.touched, s)
		p.changedBase = p.changedBase || p.inBase(s)
	}
	s.removed, s.parsed, s.field = false, false, false
}

func (p *symbols) set(s *symbol, value string) {
	p.touch(s)
	s.str, s.isStr, s.text = value, true, nil
}

func (p *symbols) remove(s *symbol) {
	if !p.has(s) {
		return
	}
	p.touch(s)
	s.removed = true
}

// target returns the symbol to which a parser assigns a label with a symbol's name; nil if it is not wanted, or a parser
// has already set it in this record.
func (p *symbols) target(s *symbol) *symbol {
	if s.reserved || p.inBase(s) {
		s = p.extracted(s)
	}
	if !s.wanted || s.record == p.recordID && s.parsed && !s.removed || p.inBase(s) {
		p.skipped++
		return nil
	}
	return s
}

// mayAdd reports whether [symbols.target] may find a symbol for labels of a name.
func (p *symbols) mayAdd(name string) bool {
	wanted := func(name string) bool { s := p.byName[name]; return s != nil && s.wanted }
	return p.all || wanted(name) || wanted(name+extractedSuffix)
}

// extracted is the symbol of a name with the suffix _extracted.
func (p *symbols) extracted(s *symbol) *symbol {
	if s.extracted == nil {
		s.extracted = p.symbol(s.name + extractedSuffix)
		s.extracted.of = s
	}
	return s.extracted
}

// parsed sets a label found by [symbols.target]. It returns false if the record has too many.
func (p *Processor) parsed(s *symbol, value []byte) bool {
	if p.parsedCount >= maxParsed {
		return false
	}
	p.parsedCount++
	if !utf8.Valid(value) {
		value = p.validText(value)
	}
	p.touch(s)
	s.parsed = true
	s.text, s.isStr = value, false
	return true
}

// extract sets a label to a text that a parser found, which may be empty, if the label is wanted. It returns false if the record has too
// many.
func (p *Processor) extract(s *symbol, value []byte) bool {
	if s == nil {
		p.skipped++
		return true
	}
	target := p.target(s)
	return target == nil || p.parsed(target, value)
}

// validText is a text with U+FFFD for each byte that is not UTF-8.
func (p *Processor) validText(text []byte) []byte {
	start := len(p.arena)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		p.arena = utf8.AppendRune(p.arena, r)
		text = text[n:]
	}
	return slices.Clip(p.arena[start:])
}

// missing is the number of wanted labels that parsers could still find; -1 is no limit.
func (p *symbols) missing() int {
	if p.all {
		return -1
	}
	n := 0
	for _, s := range p.wanted {
		if !p.inBase(s) && (s.record != p.recordID || !s.parsed || s.removed) {
			n++
		}
	}
	return n
}

// value returns the value of a label, "" if there is none. The string remains valid.
func (p *symbols) value(s *symbol) string {
	if s.record != p.recordID {
		if p.inBase(s) {
			return s.base
		}
		return ""
	}
	if s.removed {
		return ""
	}
	if !s.isStr {
		s.str, s.isStr = p.intern(s, s.text), true
	}
	return s.str
}

// isText reports whether the value of a label is a text that no string was made of.
func (p *symbols) isText(s *symbol) bool { return s.record == p.recordID && !s.removed && !s.isStr }

// appendValue appends the value of a label.
func (p *symbols) appendValue(dst []byte, s *symbol) []byte {
	if p.isText(s) {
		return append(dst, s.text...)
	}
	return append(dst, p.value(s)...)
}

// intern is a text as a string.
func (p *symbols) intern(s *symbol, text []byte) string {
	if string(text) == s.last {
		return s.last
	}
	if len(text) > maxInternedSize || s.misses > 1024 && s.hits < s.misses/8 {
		s.last = string(text)
		return s.last
	}
	str, ok := p.interned[string(text)]
	if ok {
		s.hits++
	} else {
		s.misses++
		if len(p.interned) >= maxInterned {
			clear(p.interned)
		}
		str = string(text)
		p.interned[str] = str
	}
	s.last = str
	return str
}

// Get returns the value of a label, "" if there is none.
func (p *Processor) Get(name string) string {
	if s := p.byName[name]; s != nil {
		return p.value(s)
	}
	return ""
}

// output caches the last result made of the labels.
type output struct {
	parsed   labels.Labels
	fields   labels.Labels
	lastBase [2]labels.Labels
	scratch  labels.Labels
	// names are the names for which by was resolved.
	names []string
	by    []*symbol
}

// Labels returns all labels by category: those of the stream, structured metadata, and those that stages made or changed
// (including __error__). They remain valid. Each label is in one category, or in Fields. Successive records with equal
// labels may share a slice. Values that stages found may be empty.
func (p *Processor) Labels() (stream, metadata, parsed labels.Labels) {
	if p.current == nil {
		return nil, nil, nil
	}
	stream, metadata = p.current.Labels, p.current.Metadata
	if p.changedBase {
		stream, metadata = p.unchanged(0, stream), p.unchanged(1, metadata)
	}
	return stream, metadata, p.touchedLabels(&p.out.parsed, func(s *symbol) bool { return !s.field })
}

// unchanged is the labels of a stream that stages did not change.
func (p *Processor) unchanged(i int, ls labels.Labels) labels.Labels {
	scratch := p.out.scratch[:0]
	for _, l := range ls {
		if s := p.byName[l.Name]; s == nil || s.record != p.recordID {
			scratch = append(scratch, l)
		}
	}
	p.out.scratch = scratch
	if !slices.Equal(scratch, p.out.lastBase[i]) {
		p.out.lastBase[i] = slices.Clone(scratch)
	}
	return p.out.lastBase[i]
}

// touchedLabels returns the labels of a kind that differ from those of the record's stream; last are those of the previous
// record.
func (p *Processor) touchedLabels(last *labels.Labels, is func(s *symbol) bool) labels.Labels {
	scratch := p.out.scratch[:0]
	for _, s := range p.touched {
		if is(s) && !s.removed {
			scratch = append(scratch, labels.Label{Name: s.name, Value: p.value(s)})
		}
	}
	sortLabels(scratch)
	p.out.scratch = scratch
	if len(scratch) == 0 {
		return nil
	}
	if !slices.Equal(scratch, *last) {
		*last = slices.Clone(scratch)
	}
	return *last
}

// sortLabels sorts few labels by name, quickly if they mostly are.
func sortLabels(ls labels.Labels) {
	if len(ls) > 16 {
		slices.SortFunc(ls, func(a, b labels.Label) int { return strings.Compare(a.Name, b.Name) })
		return
	}
	for i := 1; i < len(ls); i++ {
		for k := i; k > 0 && ls[k].Name < ls[k-1].Name; k-- {
			ls[k], ls[k-1] = ls[k-1], ls[k]
		}
	}
}

// AppendGroup appends the key (see [labels.Labels.AppendKey]) of the labels with one of the names, which are sorted, or of
// all others if without is set; Group returns these labels. Structured metadata are only among the others if a stage reads
// them, or if they are needed (see [Compile]).
func (p *Processor) AppendGroup(dst []byte, without bool, names []string) []byte {
	return p.group(without, names).AppendKey(dst)
}

// Group returns the labels whose key AppendGroup appends. They remain valid.
func (p *Processor) Group(without bool, names []string) labels.Labels {
	return slices.Clone(p.group(without, names))
}

// group is the labels of a group, valid until the next call.
func (p *Processor) group(without bool, names []string) labels.Labels {
	ls := p.out.scratch[:0]
	if p.current == nil {
		return ls
	}
	add := func(s *symbol) {
		if p.has(s) {
			ls = append(ls, labels.Label{Name: s.name, Value: p.value(s)})
		}
	}
	if !without {
		for _, s := range p.resolve(names) {
			add(s)
		}
		p.out.scratch = ls
		return ls
	}
	for i := range p.values {
		v := &p.values[i]
		if v.sym.record != p.recordID && v.sym.category == v.category &&
			(v.category == streamLabel || p.named[v.sym.name]) && !slices.Contains(names, v.sym.name) {
			add(v.sym)
		}
	}
	for _, s := range p.touched {
		if !s.removed && !slices.Contains(names, s.name) {
			add(s)
		}
	}
	sortLabels(ls)
	p.out.scratch = ls
	return ls
}

// resolve is the symbols of names.
func (p *Processor) resolve(names []string) []*symbol {
	if !slices.Equal(names, p.out.names) || len(p.out.by) != len(names) {
		p.out.names, p.out.by = slices.Clone(names), nil
		for _, name := range names {
			p.out.by = append(p.out.by, p.symbol(name))
		}
	}
	return p.out.by
}
