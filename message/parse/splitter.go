package parse

import (
	"bytes"
	"iter"
	"slices"
	"strings"

	"logstow/internal/ansi"
	"logstow/internal/memo"
	"logstow/message"
)

// Splitter splits messages into their fields, one after the other. Not safe for concurrent use.
//
// Values and their texts are valid until the next Split. Only regular expressions, once per match, and messages larger than all before
// allocate memory.
type Splitter struct {
	parser  *Parser
	message []byte
	// attributes are those of the record, sought has what is looked up in them for each name.
	attributes attributesOf
	sought     []attributeLookup
	values     []message.Value // by index
	known      []bool          // whether values is set
	attributed []bool          // whether values are those of attributes
	space      []byte          // memory for texts without escapes
	plain      []byte          // memory for messages without colours
	colored    bool            // the current message is in plain

	// For auto: values are found when they are requested.
	lookups []lookup
	set     *message.Set // nil if a name needs more than one lookup, or occurs twice
	depth   depths
	line    line
	whole   line // like line, with all fields
	wrapped wrappedLine
	members []message.Value // scratch of Form

	// For other parsers: the captures, and the index of the capture of each value, or -1.
	captures places
	indexes  []int
}

// A lookup finds a field. own is the lookup of the name without [messagePrefix]; nil if the name does not have it.
type lookup struct {
	id     id
	finder *message.Finder
	own    *lookup
}

func (p *Parser) lookup(name string, d *depths) lookup {
	l := lookup{id: p.formats.ids[name], finder: message.NewFinder(name)}
	p.formats.need(l.id, d)
	if own, ok := strings.CutPrefix(name, messagePrefix); ok {
		inner := p.lookup(own, d)
		l.own = &inner
	}
	return l
}

// Splitter makes a Splitter that returns the fields with these names by index. Without names it only iterates over all fields.
func (p *Parser) Splitter(names ...string) *Splitter {
	s := &Splitter{
		parser:     p,
		values:     make([]message.Value, len(names)),
		known:      make([]bool, len(names)),
		attributed: make([]bool, len(names)),
	}
	for _, name := range names {
		s.sought = append(s.sought, newAttributeLookup(name))
		if p.formats != nil {
			s.lookups = append(s.lookups, p.lookup(name, &s.depth))
		} else {
			s.indexes = append(s.indexes, p.index(name))
		}
	}
	twice := len(slices.Compact(slices.Sorted(slices.Values(names)))) < len(names)
	if p.formats != nil && !twice && !slices.ContainsFunc(s.lookups, func(l lookup) bool { return l.own != nil }) {
		s.set = message.NewSet(names)
	}
	return s
}

// Splitters keep a Splitter of the same names for each parser.
type Splitters struct{ known memo.Map[*Parser, *Splitter] }

// Of returns the Splitter of a parser. The names must be the same at each call.
func (s *Splitters) Of(p *Parser, names ...string) *Splitter {
	return s.known.Get(p, func() *Splitter { return p.Splitter(names...) })
}

// Split makes the attributes and the message of a record the current ones. Colours in the message are ignored: see package [ansi].
func (s *Splitter) Split(attributes, message []byte) {
	s.attributes.set(attributes)
	if s.colored = bytes.IndexByte(message, ansi.Escape) >= 0; s.colored {
		s.plain = ansi.Strip(s.plain[:0], message)
		message = s.plain
	}
	s.message, s.space, s.wrapped.known = message, s.space[:0], false
	clear(s.known)
	clear(s.attributed)
	if p := s.parser; p.formats != nil {
		p.formats.split(&s.line, message, &s.depth)
	} else {
		s.captures = p.match(s.captures[:0], message)
	}
}

// Values returns the values of all names, in their order. If most of them are in the message, it is faster than [Splitter.Value] for
// each.
func (s *Splitter) Values() []message.Value {
	if noFormat := s.attributes.none() && len(s.line.rest) == len(s.message); noFormat && s.set != nil && !s.inner() &&
		s.set.Find(s.message, s.values) {
		return s.values
	}
	for i := range s.values {
		s.values[i] = s.find(i)
	}
	return s.values
}

// CheckForm makes Values determine the result of [Splitter.Form].
func (s *Splitter) CheckForm() {
	if s.set != nil {
		s.set.CheckForm()
	}
}

// Form returns the form of the message, after a call of Values, if all parsers of the form find these values; otherwise
// [message.NoForm]. It requires [Splitter.CheckForm].
func (s *Splitter) Form() message.Form {
	if s.set == nil || s.colored || !s.attributes.none() || len(s.line.rest) != len(s.message) {
		return message.NoForm
	}
	if s.inner() { // Values are those of a wrapped line
		s.members = slices.Grow(s.members[:0], len(s.values))[:len(s.values)]
		same := func(a, b message.Value) bool { return a.Kind == b.Kind && bytes.Equal(a.Text, b.Text) }
		if !s.set.Find(s.message, s.members) || !slices.EqualFunc(s.values, s.members, same) {
			return message.NoForm
		}
	}
	return s.set.Form()
}

// Value returns the value of the i-th name in the current message.
func (s *Splitter) Value(i int) message.Value {
	if !s.known[i] {
		s.values[i], s.known[i] = s.find(i), true
	}
	return s.values[i]
}

// IsAttribute reports whether the value of the i-th name is that of an attribute, after a call of Value or Values.
func (s *Splitter) IsAttribute(i int) bool { return s.attributed[i] }

func (s *Splitter) find(i int) message.Value {
	if !s.attributes.none() {
		if v := s.attributes.find(&s.sought[i]); v.Kind != message.Missing {
			s.attributed[i] = true
			return v
		}
	}
	if s.sought[i].only {
		return message.Value{}
	}
	if s.parser.formats == nil {
		if k := s.indexes[i]; k >= 0 {
			return s.capture(k)
		}
		return message.Value{}
	}
	l := &s.lookups[i]
	if s.inner() {
		if v := s.findIn(&s.wrapped.line, l); v.Kind != message.Missing {
			return v
		}
	}
	v := s.findIn(&s.line, l)
	for l.own != nil && v.Kind == message.Missing {
		l = l.own
		if v = s.findIn(&s.line, l); v.Kind == message.Missing && s.inner() {
			v = s.findIn(&s.wrapped.line, l)
		}
	}
	return v
}

// findIn finds a field in a line.
func (s *Splitter) findIn(in *line, l *lookup) message.Value {
	if l.id != 0 {
		if at := in.at[l.id]; at > 0 {
			return s.value(in, int(at)-1)
		}
	}
	if in.rest == nil {
		return message.Value{}
	}
	return l.finder.Find(in.rest)
}

// capture returns the value of a capture.
func (s *Splitter) capture(k int) message.Value {
	text, ok := s.captures.of(s.message, k)
	if !ok {
		return message.Value{}
	}
	if at := s.captures[2*k]; s.parser.name != nameCSV || at == 0 || s.message[at-1] != '"' {
		return message.Value{Kind: message.Bare, Text: text}
	}
	const quotes = `""` // of CSV, stand for one
	if bytes.Contains(text, []byte(quotes)) {
		start := len(s.space)
		for {
			before, after, more := bytes.Cut(text, []byte(quotes))
			if s.space = append(s.space, before...); !more {
				break
			}
			s.space, text = append(s.space, '"'), after
		}
		text = s.space[start:len(s.space):len(s.space)]
	}
	return message.Value{Kind: message.String, Text: text}
}

// value returns the value of a field of a line.
func (s *Splitter) value(l *line, i int) message.Value {
	f := &l.fields[i]
	v := message.Value{Kind: message.Bare, Text: l.text[f.start:f.end:f.end]}
	if f.quoted {
		v.Kind = message.String
	}
	if l.escape != 0 && bytes.IndexByte(v.Text, l.escape) >= 0 {
		start := len(s.space)
		s.space = message.UnescapeText(s.space, v.Text, l.escape)
		v.Text = s.space[start:len(s.space):len(s.space)]
	}
	return v
}

// All yields all fields of the current record: attributes first, then those of a line that the message wraps, then its own in their
// order. A name may occur several times: [Splitter.Value] returns the first one.
func (s *Splitter) All() iter.Seq2[string, message.Value] {
	return func(yield func(string, message.Value) bool) {
		for name, v := range s.attributes.all() {
			if !yield(name, v) {
				return
			}
		}
		if s.parser.formats == nil {
			s.allCaptures(yield)
			return
		}
		if s.inner() && !s.allInner(yield) {
			return
		}
		s.parser.formats.split(&s.whole, s.message, &s.parser.formats.all)
		s.allOf(&s.whole, yield)
	}
}

// allOf yields all fields of a line, and reports whether to continue.
func (s *Splitter) allOf(l *line, yield func(string, message.Value) bool) bool {
	for i := range l.n {
		if !yield(s.parser.formats.names[l.fields[i].id], s.value(l, i)) {
			return false
		}
	}
	if l.rest == nil {
		return true
	}
	for name, v := range message.All(l.rest) {
		if !yield(name, v) {
			return false
		}
	}
	return true
}

// Text yields the fields of the current message if it has a text format, or the parser has an expression. It yields none for a message
// that is JSON or logfmt, even if it wraps a line. A value is valid until the next one.
func (s *Splitter) Text() iter.Seq2[string, message.Value] {
	return func(yield func(string, message.Value) bool) {
		if s.parser.formats == nil {
			s.allCaptures(yield)
			return
		}
		s.parser.formats.split(&s.whole, s.message, &s.parser.formats.all)
		if s.whole.n > 0 {
			s.allOf(&s.whole, yield)
		}
	}
}

func (s *Splitter) allCaptures(yield func(string, message.Value) bool) {
	for k, name := range s.parser.captures {
		v := s.capture(k)
		if name == "" || v.Kind == message.Missing {
			continue
		}
		if !yield(name, v) {
			return
		}
	}
}
