package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"logstow/logql/labels"
	"logstow/logql/pipeline"
	"logstow/logql/syntax"
)

// ErrEnough is returned by an emit function of [Source.InOrder] when the limit of a query is reached.
var ErrEnough = errors.New("limit of entries reached")

// Logs calls emit with the records that a query finds, in order, until the limit.
//
// Its errors wrap [ErrQuery], or are those of the source, of emit or of ctx.
func (e *Engine) Logs(ctx context.Context, query *syntax.LogExpr, p LogParams, emit func(*Entry) error) error {
	if p.From >= p.To {
		return nil
	}
	log := Simplify(query)
	stages := log.Stages[e.Source.Applied(log):]
	processor, err := newProcessor(stages, p)
	if err != nil {
		return err
	}
	sel := Selection{Log: log, From: p.From, To: p.To, Newest: p.Newest, Filter: fieldFilter(log.Stages)}
	first, whole := rejecting(stages)
	if whole {
		sel.Limit = p.Limit
	}
	if len(first) > 0 {
		if sel.Records, err = valid(pipeline.CompileFilter(first)); err != nil {
			return err
		}
	}
	ticker, emitted := newTicker(ctx, stages), 0
	err = e.Source.InOrder(ctx, sel, func(r *Record) error {
		if err := ticker.tick(); err != nil {
			return err
		}
		if !processor.Process(r.Time, r.Attributes, r.Line, r.Stream) {
			return nil
		}
		entry := Entry{Time: r.Time, Line: processor.Line()}
		entry.Stream, entry.Metadata, entry.Parsed = processor.Labels()
		if p.Fields {
			entry.Fields, entry.Text = processor.Fields(), processor.HasText()
		}
		if err := emit(&entry); err != nil {
			return err
		}
		if emitted++; emitted == p.Limit {
			return ErrEnough
		}
		return nil
	})
	if errors.Is(err, ErrEnough) {
		return nil
	}
	return err
}

// rejecting are the stages up to the last that rejects records, in front of the first template; they are not all that reject
// records if whole is not set.
func rejecting(stages []syntax.Stage) (first []syntax.Stage, whole bool) {
	templates := false
	for i, s := range stages {
		switch s.(type) {
		case *syntax.LineFilter, *syntax.LabelFilter:
			if templates {
				return first, false
			}
			first = stages[:i+1]
		case *syntax.LineFormat, *syntax.LabelFormat:
			templates = templates || !labelsOnly(s)
		}
	}
	return first, true
}

// processor processes the records of a log query.
type processor interface {
	Process(at int64, attributes, line []byte, stream *pipeline.Stream) bool
	Line() []byte
	Labels() (stream, metadata, parsed labels.Labels)
	Fields() labels.Labels
	HasText() bool
}

func newProcessor(stages []syntax.Stage, p LogParams) (processor, error) {
	if p.Unparsed {
		f, err := valid(pipeline.CompileFilter(stages))
		if err != nil {
			return nil, err
		}
		return f.Keeper(), nil
	}
	pipe, err := valid(pipeline.Compile(stages, nil, nil))
	if err != nil {
		return nil, err
	}
	processor := pipe.Processor()
	if p.Fields || slices.ContainsFunc(stages, func(s syntax.Stage) bool { _, ok := s.(*syntax.LineFilter); return !ok }) {
		processor.ReadFields()
	}
	return processor, nil
}

// valid makes the error of compiling stages that of an invalid query.
func valid[T any](compiled T, err error) (T, error) {
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrQuery, err)
	}
	return compiled, err
}
