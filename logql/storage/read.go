package storage

import (
	"context"
	"errors"

	"logstow/columns"
	"logstow/logql/engine"
	"logstow/query"
	"logstow/query/fetch"
	"logstow/query/merge"
	"logstow/query/rowset"
	"logstow/record"
)

// InOrder emits records in the order of time.
func (v *View) InOrder(ctx context.Context, sel engine.Selection, emit func(*engine.Record) error) error {
	s, err := v.plan(ctx, sel)
	if s == nil || err != nil {
		return v.complete(err)
	}
	return v.run(ctx, s, func(_ *query.Segment, r *engine.Record) error { return emit(r) })
}

// run emits the records of a selection in order, with their segments.
func (v *View) run(ctx context.Context, s *selected, emit func(*query.Segment, *engine.Record) error) error {
	err := s.Run(ctx, s.Plan, func(m query.Match) error {
		if r := s.streams.convert(&m); r != nil {
			return emit(m.Segment, r)
		}
		return nil
	})
	if errors.Is(err, engine.ErrEnough) { // records that could not be read may be missing before the last one
		err = nil
	}
	return v.complete(err)
}

// Each adds records to workers.
func (v *View) Each(ctx context.Context, sel engine.Selection, restart func(), newWorker func() engine.Worker) error {
	s, err := v.plan(ctx, sel)
	if s == nil || err != nil {
		return v.complete(err)
	}
	var fields *engine.Fields
	var names []columns.Name
	if sel.Fields != nil {
		fields = s.streams.withMatchers(sel.Fields)
		names = columnNames(fields)
	}
	return v.complete(s.Each(ctx, s.Plan, names, restart, func() merge.Worker {
		return &worker{newWorker(), s.streams.newStreams(), fields}
	}))
}

// worker adds blocks by their columns if these have the values that the parser would find, otherwise by matches.
type worker struct {
	engine.Worker
	streams *streams
	fields  *engine.Fields // nil if lines are needed
}

// Columns implements [merge.Worker].
func (w *worker) Columns(t *fetch.Task, sel rowset.Selected, cols rowset.Columns) (bool, error) {
	if w.fields == nil {
		return false, nil
	}
	block, ok := w.streams.fieldBlock(t.Segment.Name.Service, &t.Block, sel, cols, w.fields)
	if !ok || block.Records == 0 || sel.Count == 0 {
		return ok, nil
	}
	return w.AddFields(block)
}

// Text implements [merge.Worker]: it adds a match, unless a matcher rejects it.
func (w *worker) Text(_ *fetch.Task, origin *query.Segment, line []byte, c *record.Columns) error {
	r, err := w.streams.record(origin, line, c)
	if r == nil || err != nil {
		return err
	}
	return w.Add(r)
}
