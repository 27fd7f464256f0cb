package query

import (
	"context"
	"slices"

	"logstow/query/fetch"
	"logstow/query/plan"
	"logstow/query/source"
	"logstow/record"
)

// Services are the services of the query's stores, in order of name, whether they are selected or not. What cannot be listed
// is a problem of the report; only the end of ctx is an error.
func (q *Query) Services(ctx context.Context) ([]string, error) {
	ctx, done := q.meter.StepContext(ctx)
	defer done()
	var all []string
	for i := range q.stores {
		services, err := plan.Services(ctx, q.stores[i])
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			q.recorder.Problem(&Problem{Store: q.stores[i].Name, Object: "services", Err: err})
		}
		all = append(all, services...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// Written are the segments of a plan as they were written: in place of an output of compaction those of its inputs that it is read
// for. What cannot be read is a problem of the report; only the end of ctx is an error.
func (q *Query) Written(ctx context.Context, p *Plan) ([]Segment, error) {
	ctx, done := q.meter.StepContext(ctx)
	defer done()
	var all []Segment
	for _, s := range p.Segments {
		if !s.Meta.IsOutput() {
			all = append(all, *s)
			continue
		}
		for i, input := range s.Inputs(q.fetcher.Inputs(ctx, s)) {
			if !s.Excluded[i] {
				all = append(all, input)
			}
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return all, nil
}

// columnBytes is the least that a record's text has beside its message: time, level, source.
const columnBytes = int64(record.TimeLen + len("\t-\t-\t\n"))

// Text is about the number of bytes of the messages of some of a plan's segments, as logged, with the number of their records:
// an average for estimates. It reads footers of at most samples segments, none of which is text of another program. What cannot be
// read is a problem of the report; only the end of ctx is an error.
func (q *Query) Text(ctx context.Context, p *Plan, samples int) (bytes int64, records uint64, err error) {
	ctx, done := q.meter.StepContext(ctx)
	defer done()
	own := slices.DeleteFunc(slices.Clone(p.Segments), func(s *Segment) bool { return s.Foreign })
	some := make([]*Segment, 0, samples)
	for i := range min(samples, len(own)) {
		some = append(some, own[i*len(own)/min(samples, len(own))])
	}
	open := func(ctx context.Context, s *Segment) fetch.Opened { return q.fetcher.Open(ctx, s, 0) }
	w := fetch.Window{First: source.MaxInFlight, Max: source.MaxInFlight, Bytes: 1}
	for o := range fetch.OrderedParallel(ctx, w, slices.Values(some), func(*Segment) int64 { return 0 }, open) {
		if o.Footer == nil {
			continue
		}
		for _, b := range o.Footer.Blocks {
			bytes += b.Raw - int64(b.Records)*columnBytes
			records += b.Records
		}
	}
	return bytes, records, context.Cause(ctx)
}
