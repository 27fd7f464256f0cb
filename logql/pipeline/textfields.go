package pipeline

import (
	"slices"
	"unicode/utf8"

	"logstow/logql/labels"
	"logstow/message"
	"logstow/message/parse"
	"logstow/record/attributes"
)

// textFields finds attributes of records, and the fields of text in lines, which the parsers of streams determine.
type textFields struct {
	wanted    func(label string) bool // nil if none are read
	splitters parse.Splitters
	symbols   map[string]*symbol // by name of the field
	text      bool               // whether the line of the last record has fields of text
}

// ReadFields makes labels of the attributes of records, and of the fields that the parser of a stream finds in text (see
// [parse.Splitter.Text]), such as columns of access logs and captures of a configured pattern. They are structured metadata that
// need no parser stage. A label that a stage makes replaces the field with its name. A stage that names the labels it extracts
// replaces their fields even if it does not find them. Without names all fields are read.
func (p *Processor) ReadFields(names ...string) {
	p.fields = textFields{}
	if len(names) == 0 {
		p.fields.wanted = func(string) bool { return true }
		return
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(p.pipeline.replaced, name) })
	if len(names) > 0 {
		p.fields.wanted = func(label string) bool { return slices.Contains(names, label) }
	}
}

// MayBeField reports whether a field of text can have a label of this name.
func MayBeField(name string) bool { return labels.Column(name) == "" && !labels.IsError(name) }

// readNamedFields is ReadFields for the labels that the pipeline reads.
func (p *Processor) readNamedFields() {
	if p.pipeline.all {
		p.ReadFields()
		return
	}
	names := slices.DeleteFunc(slices.Clone(p.pipeline.wanted), func(name string) bool { return !MayBeField(name) })
	if len(names) > 0 {
		p.ReadFields(names...)
	}
}

// replacedFields returns the labels whose fields a stage replaces before another stage reads them.
func replacedFields(stages []stage) []string {
	var replaced, read []string
	for _, s := range stages {
		for _, name := range s.extracts {
			if !slices.Contains(read, name) {
				replaced = append(replaced, name)
			}
		}
		if s.all {
			break
		}
		read = append(read, s.names...)
	}
	return replaced
}

// setFields sets the labels of a record's attributes, and of the fields of the current line.
func (p *Processor) setFields(attrs []byte, parser *parse.Parser) {
	for name, v := range attributes.All(attrs) {
		if !v.IsObject() { // its members follow
			p.setField(name, v)
		}
	}
	if parser == nil {
		return
	}
	splitter := p.fields.splitters.Of(parser)
	splitter.Split(nil, p.line)
	for name, v := range splitter.Text() {
		if v.Kind != message.Composite {
			p.setField(name, v)
			p.fields.text = true
		}
	}
}

// setField sets the label of a field, unless an earlier one has it, or the stream has the same value.
func (p *Processor) setField(name string, v message.Value) {
	if v.Kind == message.Null || len(v.Text) == 0 {
		return
	}
	s := p.fieldSymbol(name)
	if s == nil || s.record == p.recordID || s.of != nil && p.inBase(s.of) && s.of.base == string(v.Text) {
		return
	}
	p.setText(s, p.copyText(v.Text))
	s.field = true
}

// copyText is a text with U+FFFD for each byte that is not UTF-8, valid as long as the record.
func (p *Processor) copyText(text []byte) []byte {
	if !utf8.Valid(text) {
		return p.validText(text)
	}
	start := len(p.arena)
	p.arena = append(p.arena, text...)
	return slices.Clip(p.arena[start:])
}

// fieldSymbol returns the symbol of a field, nil if the field is not read.
func (p *Processor) fieldSymbol(name string) *symbol {
	s := p.fields.symbols[name]
	if s == nil {
		label := LabelName(name)
		if label == "" {
			return nil
		}
		if p.fields.symbols == nil {
			p.fields.symbols = map[string]*symbol{}
		}
		s = p.symbol(label)
		p.fields.symbols[name] = s
	}
	if s.reserved || p.inBase(s) || s.name == labels.ServiceAlias {
		if s = p.extracted(s); p.inBase(s) {
			return nil
		}
	}
	if !s.fieldKnown {
		s.fieldKnown, s.fieldWanted = true, p.fields.wanted(s.name)
	}
	if !s.fieldWanted {
		return nil
	}
	return s
}

// replaceFields removes the fields with the names of labels that a stage extracts; a symbol may be nil.
func (p *Processor) replaceFields(syms []*symbol) {
	if p.fields.wanted == nil {
		return
	}
	for _, s := range syms {
		for ; s != nil; s = s.extracted {
			if s.record == p.recordID && s.field {
				p.remove(s)
			}
		}
	}
}

// Fields are the labels of fields of the record that no stage replaced or removed (see [Processor.ReadFields]); they stay valid.
func (p *Processor) Fields() labels.Labels {
	return p.touchedLabels(&p.out.fields, func(s *symbol) bool { return s.field })
}

// HasText reports whether the line of the record has fields of text, not only attributes.
func (p *Processor) HasText() bool { return p.fields.text }
