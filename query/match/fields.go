package match

import (
	"slices"
	"sync"

	"logstow/query/patterns"

	"logstow/field/parse"
	"logstow/field/where"
	"logstow/filter"
)

// Fields are what depends on the parser of messages: how their fields are found, and the texts that
// follow from conditions on them. They do not change once they are made.
type Fields struct {
	Parser *parse.Parser
	// Err is why Parser is auto and not that of the segment.
	Err error
	// unescaped is the anchor for text without \u escapes, where the texts that the expression
	// requires are not escaped.
	unescaped *Literal
	// filter is looked up in token filters.
	filter filterQuery
}

// FilterKeys are the tokens to look up in the token filters of segments, in order: every match contains at
// least one. There may be none.
func (f *Fields) FilterKeys() []filter.Key { return f.filter.keys }

// fieldsByParser are those of the parsers met so far, by what footers have of them.
type fieldsByParser struct {
	mu  sync.Mutex
	all map[string]*Fields
}

// get are those of a parser, which are made once.
func (p *fieldsByParser) get(stored string, compile func() *Fields) *Fields {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.all[stored]
	if f == nil {
		f = compile()
		p.all[stored] = f
	}
	return f
}

// compileFields makes those of a parser: texts and filter are those of the conditions on the whole message.
func compileFields(stored string, programs []*where.Program, templates []string, hints []Hint, texts []Literal, filter filterQuery) *Fields {
	f := &Fields{filter: filter}
	if f.Parser, f.Err = parse.CompileStored(stored); f.Err != nil {
		f.Parser = parse.Auto()
	}
	candidates := slices.Clone(texts)
	for _, h := range hints {
		f.filter.considerFields([]where.Text{{Value: h.Text, Whole: h.Whole && f.Parser.WholeInMessage()}})
		candidates = append(candidates, NewLiteral([]byte(h.Text), false, false))
	}
	for _, template := range templates {
		for _, word := range patterns.NewMatcher(template).Words() {
			f.filter.considerFields([]where.Text{{Value: word}})
			candidates = append(candidates, NewLiteral([]byte(word), false, false))
		}
	}
	for _, program := range programs {
		for _, group := range program.Groups(f.Parser) {
			f.filter.considerFields(group)
		}
		for _, text := range program.Required(f.Parser) {
			candidates = append(candidates, NewLiteral([]byte(text), false, false))
		}
	}
	f.unescaped = anchor(candidates)
	return f
}
