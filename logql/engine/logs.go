package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"logstow/logql/pipeline"
	"logstow/logql/syntax"
)

// ErrEnough is what an emit function of [Source.InOrder] returns at the limit of a query.
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
	pipe, err := compile(stages, nil, nil)
	if err != nil {
		return err
	}
	sel := Selection{Log: log, From: p.From, To: p.To, Newest: p.Newest, Filter: fieldFilter(log.Stages)}
	if len(stages) == 0 {
		sel.Limit = p.Limit
	}
	processor, ticker, emitted := pipe.Processor(), ticker{ctx: ctx}, 0
	if p.Fields || slices.ContainsFunc(stages, func(s syntax.Stage) bool { _, ok := s.(*syntax.LineFilter); return !ok }) {
		processor.ReadFields()
	}
	err = e.Source.InOrder(ctx, sel, func(r *Record) error {
		if err := ticker.tick(); err != nil {
			return err
		}
		if !processor.Process(r.Time, r.Line, r.Stream) {
			return nil
		}
		entry := Entry{Time: r.Time, Line: processor.Line()}
		entry.Stream, entry.Metadata, entry.Parsed = processor.Labels()
		if p.Fields {
			entry.Fields = processor.Fields()
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

func compile(stages []syntax.Stage, unwrap *syntax.Unwrap, needed []string) (*pipeline.Pipeline, error) {
	pipe, err := pipeline.Compile(stages, unwrap, needed)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrQuery, err)
	}
	return pipe, nil
}
