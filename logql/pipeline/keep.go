package pipeline

import (
	"logstow/logql/labels"
	"logstow/logql/syntax"
)

// Filter has stages of which only the decision to keep a record, and its line, are needed. Immutable, and safe for
// concurrent use.
type Filter struct {
	// some extracts the labels that stages read, all extracts all labels.
	some, all *Pipeline
	// captures is the maximum number of labels of parsers that name them.
	captures int
}

// CompileFilter compiles stages, as [Compile] with all labels.
func CompileFilter(stages []syntax.Stage) (*Filter, error) {
	some, err := Compile(stages, nil, []string{labels.Error})
	if err != nil {
		return nil, err
	}
	all, err := Compile(stages, nil, nil)
	if err != nil {
		return nil, err
	}
	f := &Filter{some: some, all: all}
	for _, s := range stages {
		switch x := s.(type) {
		case *syntax.JSONParser:
			f.captures += len(x.Extractions)
		case *syntax.LogfmtParser:
			f.captures += len(x.Extractions)
		case *syntax.RegexpParser:
			f.captures += x.Regexp.NumSubexp()
		case *syntax.PatternParser:
			f.captures += len(x.Parts)
		}
	}
	return f, nil
}

// Reads reports whether a stage reads a label.
func (f *Filter) Reads(label string) bool { return f.some.all || f.some.named[label] }

// Keeper makes a keeper, which is not safe for concurrent use.
func (f *Filter) Keeper() *Keeper {
	k := &Keeper{filter: f, some: f.some.Processor()}
	k.some.readNamedFields()
	k.Processor = k.some
	return k
}

// Keeper applies a filter to records one after the other. Not safe for concurrent use. Its processor has the state of the
// last record, but parsers may have added only some labels.
type Keeper struct {
	*Processor
	filter    *Filter
	some, all *Processor // all is nil until needed
}

// Process is [Processor.Process].
func (k *Keeper) Process(at int64, attributes, line []byte, stream *Stream) bool {
	k.Processor = k.some
	keep := k.some.Process(at, attributes, line, stream)
	if k.some.parsedCount+k.some.skipped+k.filter.captures <= maxParsed {
		return keep
	}
	if k.all == nil { // the record may have too many labels, which is a mistake
		k.all = k.filter.all.Processor()
		k.all.readNamedFields()
	}
	k.Processor = k.all
	return k.all.Process(at, attributes, line, stream)
}
