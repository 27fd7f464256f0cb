// Package pipeline processes records by the stages of a LogQL log query: line filters, parsers, label filters,
// formatting. What each stage does is documented at https://grafana.com/docs/loki/latest/query/log_queries/.
//
// A label that a parser finds does not replace one of the stream: it is named with the suffix "_extracted". Of several with
// one name the first counts, also where they come from different parsers.
package pipeline

import (
	"fmt"

	"logstow/field/parse"
	"logstow/logql/labels"
	"logstow/logql/syntax"
)

// Stream is what a record has besides its line, before the first stage. Records of one stream share a Stream.
type Stream struct {
	// Labels are those of the stream: service_name, level, instance. Metadata is its structured metadata:
	// detected_level, source.
	Labels, Metadata labels.Labels
	// Parser finds further structured metadata in each line: see [Processor.ReadFields]. nil finds none.
	Parser *parse.Parser
}

// A step is a stage of a processor. It reports whether the record is kept.
type step func(p *Processor) bool

// A stage is compiled: bind makes it a step of a processor, names are the labels that it reads (all of them if all is set), extracts those
// of which it replaces the fields.
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
	// wanted are the labels that parsers extract, all of them if all is set. named are those that the query names, and that
	// are therefore read even if they are structured metadata.
	wanted []string
	all    bool
	named  map[string]bool
	// replaced are labels of which a stage replaces the fields before another one reads them.
	replaced []string
	// exact is set if parsers read each line to its end, to find all mistakes.
	exact bool
}

// Compile compiles stages. Errors are about templates and IP ranges, which package syntax does not check.
//
// needed are the labels that the result is read for, beside those that the stages themselves read: parsers
// may leave out all others. nil is all labels. A parser that has found all labels stops, as Loki's, and does not notice mistakes
// elsewhere in the line, unless needed is nil or has [labels.Error], or a stage reads it.
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

// name notes labels that are read.
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
		return compileFilter(s)
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

// Processor makes a processor for one goroutine.
func (p *Pipeline) Processor() *Processor {
	proc := &Processor{pipeline: p}
	proc.init()
	return proc
}

// Processor processes records one after the other, for one goroutine.
type Processor struct {
	pipeline *Pipeline
	steps    []step
	unwrap   func(p *Processor) (float64, bool)

	at   int64
	line []byte
	// given are what json or logfmt finds instead of the fields of the line, if givenFields is set.
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

// Process runs the stages over a record, at in Unix nanoseconds, and reports whether it is kept. What the other methods
// return is of the record processed last.
func (p *Processor) Process(at int64, line []byte, stream *Stream) bool {
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
	if stream.Parser != nil && p.fields.wanted != nil {
		p.setFields(stream.Parser)
	}
	for _, s := range p.steps {
		if !s(p) {
			return false
		}
	}
	return true
}

// Field is a member of a line's object under the name of its label. Text is nil if the line has no such member, or only null.
type Field struct {
	Name string
	Text []byte
}

// Fields are the names of the labels that parsers extract, and those of streams among them; not ok if they extract all.
func (p *Pipeline) Fields() (names []string, ok bool) { return p.wanted, !p.all }

// ProcessFields is Process for a record of which no stage but json or logfmt needs the line: its fields, each of another name, are what that finds.
func (p *Processor) ProcessFields(fields []Field, stream *Stream) bool {
	p.given, p.givenFields = fields, true
	keep := p.Process(0, nil, stream)
	p.given, p.givenFields = nil, false
	return keep
}

// setGiven sets the labels of the fields given.
func (p *Processor) setGiven() {
	for i := range p.given {
		f := &p.given[i]
		if f.Text == nil {
			continue
		}
		if target := p.target(p.symbol(f.Name)); target != nil {
			p.parsed(target, f.Text)
		}
	}
}

// Line is the line behind the last stage, valid until the next record is processed.
func (p *Processor) Line() []byte { return p.line }

// Sample is the number of the unwrapped label, if the pipeline has an unwrap: keep is false where the label is missing (the record
// has no sample) or a filter behind unwrap rejects it. Where it is no number, __error__ is SampleExtractionErr and the
// sample is 0, as in Loki. It is called once for a record, before its labels are read.
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
