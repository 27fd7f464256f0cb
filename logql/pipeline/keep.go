package pipeline

import (
	"logstow/logql/labels"
	"logstow/logql/syntax"
)

// Filter is stages of which only matters whether they keep a record. It does not change, and is safe for concurrent use.
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

// Keeper makes a keeper for one goroutine.
func (f *Filter) Keeper() *Keeper { return &Keeper{filter: f, some: f.some.Processor()} }

// Keeper applies a filter to records one after the other, for one goroutine.
type Keeper struct {
	filter    *Filter
	some, all *Processor // all is nil until needed
}

// Keeps reports whether the stages keep a record of any time.
func (k *Keeper) Keeps(line []byte, stream *Stream) bool {
	keep := k.some.Process(0, line, stream)
	if k.some.parsedCount+k.some.skipped+k.filter.captures <= maxParsed {
		return keep
	}
	if k.all == nil { // the record may have too many labels, which is a mistake
		k.all = k.filter.all.Processor()
	}
	return k.all.Process(0, line, stream)
}
