package storage

import (
	"context"
	"errors"
	"slices"
	"time"

	"logstow/internal/retry"
	"logstow/logql/engine"
	"logstow/logql/syntax"
	"logstow/query"
	"logstow/query/follow"
	"logstow/store"
)

// Watching makes the records of services visible sooner while [View.Tail] reads them.
type Watching interface {
	// Watch is called with the services that a poll reads, before it reads them.
	Watch(services []string)
	// Interval is the interval between polls; normal is the one without watches.
	Interval(normal time.Duration) time.Duration
}

// Watch makes [View.Tail] use w.
func (v *View) Watch(w Watching) { v.watching = w }

// unwatched is no [Watching].
type unwatched struct{}

func (unwatched) Watch([]string)                              {}
func (unwatched) Interval(normal time.Duration) time.Duration { return normal }

// Tail calls emit with the newest limit matches since from, in order of time, and then polls for new segments and calls
// emit with their matches, in order of time within each poll. It ends when ctx ends, or emit or idle returns an error. idle
// is called after each poll. Records are found if they are stored up to [follow.DefaultWindow] after their time.
//
// Limits of bytes and cost apply to each poll.
func (v *View) Tail(ctx context.Context, log *syntax.LogExpr, from int64, limit int, interval time.Duration, emit func(*engine.Entry) error, idle func() error) error {
	var follower follow.Follower
	for first := true; ; {
		began := time.Now()
		poll := v.storage.View(v.access)
		poll.watching = v.watching
		now := v.storage.now()
		sel := engine.Selection{Log: log, From: max(from, now.Add(-follow.DefaultWindow).UnixNano()), To: follow.End(now).UnixNano()}
		if first {
			sel.From, sel.Newest = from, true
		}
		planned, err := poll.poll(ctx, &follower, sel, limit, emit)
		v.beside.Add(poll.Report())
		if err != nil {
			return err
		}
		first = first && !planned
		if err := idle(); err != nil {
			return err
		}
		if err := retry.Sleep(ctx, v.watching.Interval(interval)-time.Since(began)); err != nil {
			return err
		}
	}
}

// poll emits the records of segments that were not read yet; of the newest order only the first limit, in the order of time. It was not
// planned if the services cannot be listed for now.
func (v *View) poll(ctx context.Context, follower *follow.Follower, sel engine.Selection, limit int, emit func(*engine.Entry) error) (planned bool, err error) {
	s, err := v.plan(ctx, sel)
	if s == nil || err != nil {
		err = v.complete(err)
		if errors.Is(err, ErrIncomplete) && store.Retryable(err) {
			return false, nil
		}
		return true, err
	}
	v.watching.Watch(s.streams.services)
	s.Plan = follower.Unread(ctx, s.Query, s.Plan)
	source := &polled{View: v, selected: s}
	params := engine.LogParams{From: sel.From, To: sel.To, Newest: sel.Newest, Fields: true}
	emitOne := func(e *engine.Entry) error {
		follower.Emitted(source.current)
		return emit(e)
	}
	if sel.Newest {
		params.Limit = limit
		err = newestInOrder(ctx, source, sel.Log, params, emitOne)
	} else {
		err = (&engine.Engine{Source: source}).Logs(ctx, sel.Log, params, emitOne)
	}
	if err != nil && !errors.Is(err, ErrIncomplete) {
		return true, err
	}
	report := s.Report() // failures are retried by a later poll, or reported by a query of the range
	follower.Done(&report)
	return true, nil
}

// newestInOrder emits the newest records in the order of time. They are emitted if others could not be read, too.
func newestInOrder(ctx context.Context, source *polled, log *syntax.LogExpr, p engine.LogParams, emit func(*engine.Entry) error) error {
	if p.Limit == 0 { // only new records
		return nil
	}
	type entry struct {
		engine.Entry
		segment *query.Segment
	}
	var kept []entry
	err := (&engine.Engine{Source: source}).Logs(ctx, log, p, func(e *engine.Entry) error {
		kept = append(kept, entry{*e, source.current})
		kept[len(kept)-1].Line = slices.Clone(e.Line)
		return nil
	})
	if err != nil && !errors.Is(err, ErrIncomplete) {
		return err
	}
	for i := range slices.Backward(kept) {
		source.current = kept[i].segment
		if err := emit(&kept[i].Entry); err != nil {
			return err
		}
	}
	return err
}

// polled is the source of a poll.
type polled struct {
	*View
	selected *selected
	// current is the segment of the record emitted last.
	current *query.Segment
}

// InOrder emits the records of the poll's plan.
func (p *polled) InOrder(ctx context.Context, _ engine.Selection, emit func(*engine.Record) error) error {
	return p.run(ctx, p.selected, func(s *query.Segment, r *engine.Record) error {
		p.current = s
		return emit(r)
	})
}
