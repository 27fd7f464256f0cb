package storage

import (
	"context"
	"errors"

	"logstow/logql/engine"
	"logstow/query"
	"logstow/query/fetch"
	"logstow/query/merge"
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
	if sel.Fields == nil {
		return v.complete(s.Each(ctx, s.Plan, nil, restart, func() merge.Worker {
			return &matchWorker{worker: newWorker(), streams: s.streams.newStreams()}
		}))
	}
	fields := s.streams.withMatchers(sel.Fields)
	return v.complete(s.Each(ctx, s.Plan, columnNames(fields), restart, func() merge.Worker {
		return &fieldWorker{matchWorker{worker: newWorker(), streams: s.streams.newStreams()}, fields}
	}))
}

// matchWorker adds matches to a worker.
type matchWorker struct {
	merge.TextOnly
	worker  engine.Worker
	streams *streams
}

// Text implements [merge.Worker]: it adds a match, unless a matcher rejects it.
func (w *matchWorker) Text(_ *fetch.Task, origin *query.Segment, line []byte, columns *record.Columns) error {
	r, err := w.streams.record(origin, line, columns)
	if r == nil || err != nil {
		return err
	}
	return w.worker.Add(r)
}
