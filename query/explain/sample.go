package explain

import (
	"bytes"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"logstow/message"
	"logstow/query/match"

	"logstow/field/where"
	"logstow/message/parse"
	"logstow/record"
	"logstow/record/attributes"
)

const (
	// sampleBytes is the maximum size of the sample.
	sampleBytes = 256 << 10
	// SamplePart is the maximum number of bytes that [Findings.AddSample] takes from one block.
	SamplePart = 32 << 10
)

// A sample has the stored text of the first records of the first blocks that were read.
type sample struct {
	full atomic.Bool

	mu   sync.Mutex
	text []byte
	// parts are the parts of text by parser, in order.
	parts []samplePart
	// part is set if not all records that were read are in the sample.
	part bool
}

// samplePart is a part of a sample: the records from offset start to the next part have a parser.
type samplePart struct {
	start  int
	parser string
}

// add adds whole records from the beginning of text.
func (s *sample) add(text []byte, parser string) {
	if s.full.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(text), SamplePart, sampleBytes-len(s.text))
	if n < len(text) {
		s.part = true
		n = wholeRecords(text, n)
	}
	if last := len(s.parts) - 1; last < 0 || s.parts[last].parser != parser {
		s.parts = append(s.parts, samplePart{len(s.text), parser})
	}
	s.text = append(s.text, text[:n]...)
	if len(s.text) > sampleBytes-SamplePart {
		s.part = true // there may be more
		s.full.Store(true)
	}
}

// wholeRecords returns the length of the complete records in the first n bytes of text.
func wholeRecords(text []byte, n int) int {
	for n > 0 {
		n = bytes.LastIndexByte(text[:n], '\n') + 1
		if n == 0 || n == len(text) || text[n] != '\t' {
			return n
		}
		n--
	}
	return 0
}

// records yields the columns and messages of the records. Before the records of a parser it calls use. A message is valid until the next
// one.
func (s *sample) records(use func(parser string)) iter.Seq2[record.Columns, []byte] {
	return func(yield func(record.Columns, []byte) bool) {
		var message record.Message
		parts := s.parts
		for pos := 0; pos < len(s.text); {
			for ; len(parts) > 0 && parts[0].start == pos; parts = parts[1:] { // several if parts are empty
				use(parts[0].parser)
			}
			end, _ := record.End(s.text, pos)
			f, ok := record.Split(s.text[pos:end])
			pos = end + 1
			if !ok {
				continue
			}
			message.Decode(f.Raw)
			if !yield(f, message) {
				return
			}
		}
	}
}

// sampled is the result of examining a sample of the records that were read.
type sampled struct {
	records int
	all     bool // no other records were read
	// names are the names of existing fields; uses has an element for each use of a field in the expression.
	names []string
	uses  []sampledUse
	// kindOf are the kinds of the first values of the fields in names.
	kindOf map[string]message.Kind
	// sources are the sources of the records.
	sources []string
	// otherCase are the patterns that occur only in another case.
	otherCase []string
	// carriageReturns is set if messages end with a carriage return.
	carriageReturns bool
}

// sampledUse is a use of a field in an expression, and the field's values in a sample.
type sampledUse struct {
	where.Use
	// kinds are the numbers of records that have the field, by the kind of its value.
	kinds map[message.Kind]int
	// numbers is the number of its values that are numbers without a unit, suitable that of values with the dimension of the
	// use.
	numbers, suitable int
	// measured is one of its values that has a unit, and dimension that unit's, if the expression has a number without one.
	measured  string
	dimension message.Dimension
	// values are some of its values that are strings.
	values []string
}

const (
	// maxNames and maxValues are the maximum numbers of field names and of values of a field.
	maxNames  = 2000
	maxValues = 1000
)

// show examines the sample with a query's patterns and expression. Fields in further are added at the end of uses.
func (s *sample) show(m *match.Matcher, further ...string) sampled {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := sampled{all: !s.part}
	for _, program := range m.Where.Programs {
		for _, use := range program.Uses() {
			out.uses = append(out.uses, sampledUse{Use: use, kinds: map[message.Kind]int{}})
		}
	}
	for _, name := range further {
		out.uses = append(out.uses, sampledUse{Use: where.Use{Field: name}, kinds: map[message.Kind]int{}})
	}
	names, values := map[string]message.Kind{}, make([]map[string]bool, len(out.uses))
	used := make([]string, len(out.uses))
	for i := range out.uses {
		used[i], values[i] = out.uses[i].Field, map[string]bool{}
	}
	var fields *parse.Splitter
	use := func(parser string) { fields = m.FieldsOf(parser).Parser.Splitter(used...) }
	occurs := make([]match.Occurrence, len(m.Required)) // Present: verbatim, Inside: in another case
	folded := make([]match.Literal, len(m.Required))
	for i, p := range m.Selection.Patterns {
		folded[i] = match.NewLiteral([]byte(p), true, false)
	}
	wanted := len(used) > 0 || slices.ContainsFunc(m.Selection.Patterns, isCondition)
	sources := map[string]bool{}
	for f, msg := range s.records(use) {
		out.records++
		out.carriageReturns = out.carriageReturns || bytes.HasSuffix(msg, []byte{'\r'})
		fields.Split(f.Attributes, msg)
		sources[string(f.Source)] = true
		for i := range used {
			v := fields.Value(i)
			if v.Kind != message.Missing {
				out.uses[i].kinds[v.Kind]++
				if _, ok := v.Decimal(); ok {
					out.uses[i].numbers++
				}
				if _, ok := v.Quantity(out.uses[i].Dimension); ok {
					out.uses[i].suitable++
				}
				out.uses[i].measure(v)
			}
			if v.IsText() && len(values[i]) < maxValues {
				values[i][string(v.Text)] = true
			}
		}
		if wanted && len(names) < maxNames {
			for name, v := range fields.All() {
				if _, known := names[name]; !known {
					names[name] = v.Kind
				}
			}
		}
		for i := range folded {
			for text := range searched(f.Attributes, msg, m.Selection.MessageOnly) {
				if m.Required[i].Index(text) >= 0 {
					occurs[i] = match.Present
				} else if occurs[i] == match.Absent && folded[i].Index(text) >= 0 {
					occurs[i] = match.Inside
				}
			}
		}
	}
	out.names, out.kindOf, out.sources = slices.Sorted(maps.Keys(names)), names, slices.Sorted(maps.Keys(sources))
	for i := range out.uses {
		out.uses[i].values = slices.Sorted(maps.Keys(values[i]))
	}
	for i, found := range occurs {
		if found == match.Inside {
			out.otherCase = append(out.otherCase, m.Selection.Patterns[i])
		}
	}
	return out
}

// searched yields the texts of a record that patterns are searched in.
func searched(attrs, msg []byte, messageOnly bool) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !yield(msg) || messageOnly || len(attrs) == 0 {
			return
		}
		attributes.Strings(attrs)(yield)
	}
}

// measure notes a value with a unit if the expression has a number without one.
func (u *sampledUse) measure(v message.Value) {
	if u.Kind != message.Number || u.dimension != message.NoDimension || !v.IsText() {
		return
	}
	if _, dimension, ok := message.ParseQuantity(v.Text); ok {
		u.measured, u.dimension = string(v.Text), dimension
	}
}
