package match

import (
	"slices"
	"sync"

	"logstow/internal/memo"
	"logstow/query/patterns"

	"logstow/field/where"
	"logstow/filter"
	"logstow/message/parse"
)

// Fields is the part of a compiled selection that depends on the parser of the messages: how fields are found, and the texts
// that conditions on fields require. Immutable.
type Fields struct {
	Parser *parse.Parser
	// Err is set if the segment's parser is unknown; Parser is then auto.
	Err error
	// anchors are those of text without attributes, attributed those of text with attributes.
	anchors, attributed anchors
	// filter is looked up in token filters.
	filter filterQuery
}

// anchors are literals to search a block for; nil if every record has to be checked.
type anchors struct {
	// any is a part of every match, unescaped of every match without \u escapes, in which texts of fields occur verbatim.
	any, unescaped *Literal
	// ascii is a part of every match without [foldingOutside], in place of any; nil if it is the same.
	ascii *Literal
}

// FilterKeys returns the tokens to look up in the token filters of segments, ascending. Every match contains at least one of
// them. If there are none, the filter does not help.
func (f *Fields) FilterKeys() []filter.Key { return f.filter.keys }

// fieldsByParser caches Fields by their parser, as stored in metadata.
type fieldsByParser struct {
	mu  sync.Mutex
	all memo.Map[string, *Fields]
}

// compileFields compiles the Fields of a parser. texts, ascii and filter come from the conditions on the whole message.
func compileFields(stored string, programs []*where.Program, sel *Selection, texts, ascii []Literal, filter filterQuery) *Fields {
	f := &Fields{filter: filter}
	if f.Parser, f.Err = parse.CompileStored(stored); f.Err != nil {
		f.Parser = parse.Auto()
	}
	var candidates []Literal
	for _, h := range sel.Hints {
		f.filter.considerFields([]where.Text{{Value: h.Text, Whole: h.Whole && f.Parser.WholeInMessage()}})
		candidates = append(candidates, NewLiteral([]byte(h.Text), false, false))
	}
	for _, template := range sel.Templates {
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
	f.anchors = newAnchors(texts, candidates)
	if best := anchor(ascii); best != nil && (f.anchors.any == nil || string(best.text) != string(f.anchors.any.text)) {
		f.anchors.ascii = best
	}
	var pieces []Literal
	for i := range texts {
		pieces = append(pieces, unescapedPieces(&texts[i])...)
	}
	f.attributed = newAnchors(pieces, candidates)
	return f
}

// newAnchors makes the anchors of texts that every match contains, and of those in fields.
func newAnchors(texts, ofFields []Literal) anchors {
	any := anchor(texts)
	if len(ofFields) == 0 {
		return anchors{any: any, unescaped: any}
	}
	return anchors{any: any, unescaped: anchor(slices.Concat(texts, ofFields))}
}
