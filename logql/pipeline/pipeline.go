// Package pipeline processes records by the stages of a LogQL log query: line filters, parsers, label filters, formatting.
// The stages are documented at https://grafana.com/docs/loki/latest/query/log_queries/.
//
// A label that a parser finds does not replace a label of the stream: it gets the suffix "_extracted". If parsers find
// several labels with the same name, the first one is used.
package pipeline

import (
	"fmt"

	"logstow/logql/labels"
	"logstow/logql/syntax"
	"logstow/message"
	"logstow/message/parse"
)

// Stream has the properties of a record other than its line, before the first stage. Records of one stream share a Stream.
type Stream struct {
	// Labels are the labels of the stream: service_name, level, instance. Metadata is its structured metadata:
	// detected_level, source.
	Labels, Metadata labels.Labels
	// Parser finds further structured metadata in each line, besides attributes: see [Processor.ReadFields]. nil finds none.
	Parser *parse.Parser
}

// A step is a stage of a processor. It reports whether the record is kept.
type step func(p *Processor) bool

// A stage is a compiled stage. bind makes a step of a processor. names are the labels that the stage reads (all labels if
// all is set), extracts those whose fields it replaces.
type stage struct {
	bind     func(p *Processor) step
	names    []string
	all      bool
	extracts []string
}

// Pipeline is compiled stages. It does not change, and is safe for concurrent use.
type Pipeline struct {
	lead   []step // line filters before all other stages: they need no labels
	stages []stage
	unwrap *unwrap
	// wanted are the labels that parsers extract (all labels if all is set). named are the labels that the query names,
	// which are read even if they are structured metadata.
	wanted []string
	all    bool
	named  map[string]bool
	// replaced are the labels whose fields a stage replaces before another stage reads them.
	replaced []string
	// exact is set if parsers read each line to its end, to find all mistakes.
	exact bool
}

// Compile compiles stages. It returns an error for invalid templates and IP ranges, which package syntax does not check.
//
// needed are the labels that the caller reads, in addition to those that the stages read; nil is all labels. Parsers may
// omit other labels. Like in Loki, a parser stops when it has found all labels, and does not detect errors in the rest of
// the line, unless needed is nil or has [labels.Error], or a stage reads it.
func Compile(stages []syntax.Stage, unwrap *syntax.Unwrap, needed []string) (*Pipeline, error) {
	p := &Pipeline{all: needed == nil, named: map[string]bool{}}
	p.name(needed...)
	for _, s := range stages {
		if f, ok := s.(*syntax.LineFilter); ok && len(p.stages) == 0 {
			filter, err := lineFilter(f)
			if err != nil {
				return nil, err
			}
			p.lead = append(p.lead, filter)
			continue
		}
		if err := p.add(s); err != nil {
			return nil, err
		}
	}
	if unwrap != nil {
		u, err := compileUnwrap(unwrap)
		if err != nil {
			return nil, err
		}
		p.unwrap = u
		p.name(u.names...)
	}
	p.replaced = replacedFields(p.stages)
	p.exact = p.exact || p.all || p.named[labels.Error] || p.named[labels.ErrorDetails]
	return p, nil
}

func (p *Pipeline) add(s syntax.Stage) error {
	compiled, err := compileStage(s)
	if err != nil {
		return err
	}
	p.stages = append(p.stages, compiled)
	p.name(compiled.names...)
	p.all = p.all || compiled.all
	return nil
}

// name adds labels to those that are read.
func (p *Pipeline) name(names ...string) {
	for _, name := range names {
		if !p.named[name] {
			p.named[name] = true
			p.wanted = append(p.wanted, name)
		}
	}
}

func compileStage(s syntax.Stage) (stage, error) {
	switch s := s.(type) {
	case *syntax.LineFilter:
		filter, err := lineFilter(s)
		return stage{bind: func(*Processor) step { return filter }}, err
	case *syntax.JSONParser:
		return compileJSON(s), nil
	case *syntax.LogfmtParser:
		return compileLogfmt(s), nil
	case *syntax.RegexpParser:
		return compileRegexp(s), nil
	case *syntax.PatternParser:
		return compilePattern(s), nil
	case *syntax.UnpackParser:
		return stage{bind: bindUnpack}, nil
	case *syntax.LabelFilter:
		return compileCondition(s.Condition)
	case *syntax.LineFormat:
		return compileLineFormat(s)
	case *syntax.LabelFormat:
		return compileLabelFormat(s)
	case *syntax.DropLabels:
		return compileDrop(s), nil
	case *syntax.KeepLabels:
		return compileKeep(s), nil
	case *syntax.Decolorize:
		return stage{bind: func(*Processor) step { return decolorize }}, nil
	}
	return stage{}, fmt.Errorf("cannot process the stage %s", s)
}

// Processor makes a processor, which is not safe for concurrent use.
func (p *Pipeline) Processor() *Processor {
	proc := &Processor{pipeline: p}
	proc.init()
	return proc
}

// Processor processes records one after the other. Not safe for concurrent use.
type Processor struct {
	pipeline *Pipeline
	steps    []step
	unwrap   func(p *Processor) (float64, bool)

	at   int64
	line []byte
	// given are the fields that json or logfmt uses instead of parsing the line, if givenFields is set.
	given       []Field
	givenFields bool
	// arena is texts made of the current record, which others point into: it only grows, until the next record.
	arena []byte

	symbols
	names  names
	fields textFields
}

// init removes all names and streams of a processor.
func (p *Processor) init() {
	p.symbols, p.names, p.fields = newSymbols(p.pipeline), names{}, textFields{wanted: p.fields.wanted}
	p.steps = p.steps[:0]
	for _, s := range p.pipeline.stages {
		p.steps = append(p.steps, s.bind(p))
	}
	if u := p.pipeline.unwrap; u != nil {
		p.unwrap = u.bind(p)
	}
}

// maxArena is the largest arena kept for the next record.
const maxArena = 1 << 20

// Process runs the stages on a record, at in Unix nanoseconds, with attributes in the form of package attributes, and reports whether
// it is kept. The other methods return results for the record processed last.
func (p *Processor) Process(at int64, attributes, line []byte, stream *Stream) bool {
	p.at, p.line = at, line
	for _, filter := range p.pipeline.lead {
		if !filter(p) {
			return false
		}
	}
	if cap(p.arena) > maxArena {
		p.arena = nil
	}
	p.arena = p.arena[:0]
	if len(p.byName) > maxSymbols || p.names.size > maxNames {
		p.init()
	}
	p.begin(stream)
	p.fields.text = false
	if p.fields.wanted != nil && (stream.Parser != nil || len(attributes) > 0) {
		p.setFields(attributes, stream.Parser)
	}
	if p.givenFields {
		p.setAttributes()
	}
	for _, s := range p.steps {
		if !s(p) {
			return false
		}
	}
	return true
}

// Field is a member of a line's object, or an attribute of the record, under the name of its label. Text is nil if the line or the record
// has none, or only null.
type Field struct {
	Name      string
	Text      []byte
	Attribute bool
}

// Fields returns the names of the labels that parsers extract, including names of stream labels; not ok if they extract
// all.
func (p *Pipeline) Fields() (names []string, ok bool) { return p.wanted, !p.all }

// ProcessFields is Process for a record of which only json or logfmt needs the line: fields, with distinct names, are the
// result of that parser, and the attributes of the record that matter.
func (p *Processor) ProcessFields(fields []Field, stream *Stream) bool {
	p.given, p.givenFields = fields, true
	keep := p.Process(0, nil, nil, stream)
	p.given, p.givenFields = nil, false
	return keep
}

// setGiven sets the labels of the fields given that have a value.
func (p *Processor) setGiven(has func(f *Field) bool) {
	for i := range p.given {
		f := &p.given[i]
		if f.Attribute || !has(f) {
			continue
		}
		p.extract(p.symbol(f.Name), f.Text)
	}
}

// setAttributes sets the labels of the attributes given.
func (p *Processor) setAttributes() {
	if p.fields.wanted == nil {
		return
	}
	for i := range p.given {
		if f := &p.given[i]; f.Attribute {
			p.setField(f.Name, message.Value{Kind: message.String, Text: f.Text})
		}
	}
}

// Line returns the line after the last stage, valid until the next record is processed.
func (p *Processor) Line() []byte { return p.line }

// Sample returns the number in the unwrapped label, if the pipeline has an unwrap. keep is false if the label is missing,
// so that the record has no sample, or if a filter after unwrap rejects it. If the value is not a number, __error__ is
// SampleExtractionErr and the sample is 0, as in Loki. It must be called once for a record, before reading its labels.
func (p *Processor) Sample() (value float64, keep bool) {
	if p.unwrap == nil {
		return 0, false
	}
	return p.unwrap(p)
}

// fail makes a mistake the record's __error__.
func (p *Processor) fail(kind, details string) {
	p.set(p.err, kind)
	p.set(p.errDetails, details)
}
