package query

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"logstow/query/plan"
	"logstow/record"
	"logstow/segment"
)

// AllServices returns the services of stores, selected or not, in order of name, and which stores could not be listed.
func AllServices(ctx context.Context, stores []Store) (all []string, failures []*Problem) {
	for _, s := range stores {
		names, err := plan.Services(ctx, s)
		if err != nil {
			failures = append(failures, &Problem{Store: s.Name, Object: "cannot list services", Err: err})
		}
		all = append(all, names...)
	}
	slices.Sort(all)
	return slices.Compact(all), failures
}

// Services returns the services of the query's stores, as [AllServices] does, of archives those in a range. A listing that fails is a
// problem in the report; only the end of ctx is an error.
func (q *Query) Services(ctx context.Context, from, to time.Time) ([]string, error) {
	ctx, done := q.meter.StepContext(ctx)
	defer done()
	var failures []*Problem
	stores := slices.Clone(q.stores)
	for i, s := range q.stores {
		made, err := s.Segments(ctx, from, to, q.recorder)
		if err != nil {
			failures = append(failures, &Problem{Store: s.Name, Object: "cannot list blobs", Err: err})
		}
		stores[i] = made
	}
	if len(failures) > 0 {
		stores = slices.DeleteFunc(stores, func(s Store) bool { return s.Blobs == nil })
	}
	all, more := AllServices(ctx, stores)
	failures = append(failures, more...)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, p := range failures {
		q.recorder.Problem(p)
	}
	return all, nil
}

// EachWritten calls f with the segments of a plan: those whose records have label attributes with their footer, which lists them, others
// as shippers wrote them, without. There a mixed segment is replaced by its parts, except those of excluded inputs. A segment is valid
// until f returns. A read failure is a problem in the report; only the end of ctx is an error.
func (q *Query) EachWritten(ctx context.Context, p *Plan, f func(*Segment, *segment.Footer)) error {
	ctx, done := q.meter.StepContext(ctx)
	defer done()
	var labelled []*Segment
	for _, s := range p.Segments {
		if s.Meta.Labels > 0 {
			labelled = append(labelled, s)
			continue
		}
		if !s.Meta.Mixed() {
			f(s, nil)
			continue
		}
		q.fetcher.EachPart(ctx, s, func(part *Segment) { f(part, nil) })
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	for o := range q.fetcher.OpenAll(ctx, labelled) {
		if o.Footer != nil {
			f(o.Segment, o.Footer)
		}
	}
	return context.Cause(ctx)
}

// columnBytes is the minimum length of a record's text without its message: time, level and source.
const columnBytes = int64(record.TimeLen + len("\t-\t-\t-\t\n"))

// maxServiceSamples is the maximum number of segments of a service that Text samples.
const maxServiceSamples = 8

// TextSize is the approximate size in bytes of the messages of a number of records, as logged.
type TextSize struct {
	Bytes   int64
	Records uint64
}

// Text returns the size of the messages in a sample of a plan's segments by service, for estimates. It reads the footers of at most
// samples segments, preferring services with the most segments, and no foreign segments, nor those whose footers have sizes of messages,
// see [Query.EachWritten]. A read failure is a problem in the report;
// only the end of ctx is an error.
func (q *Query) Text(ctx context.Context, p *Plan, samples int) (map[string]TextSize, error) {
	ctx, done := q.meter.StepContext(ctx)
	defer done()
	byService := map[string][]*Segment{}
	for _, s := range p.Segments {
		if !s.Foreign && s.Meta.Labels == 0 {
			byService[s.Name.Service] = append(byService[s.Name.Service], s)
		}
	}
	services := slices.SortedFunc(maps.Keys(byService), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(byService[b]), len(byService[a])), cmp.Compare(a, b))
	})
	services = services[:min(samples, len(services))]
	var some []*Segment
	for _, service := range services {
		all := byService[service]
		n := min(maxServiceSamples, samples/len(services), len(all))
		for i := range n {
			some = append(some, all[i*len(all)/n])
		}
	}
	sizes := map[string]TextSize{}
	for o := range q.fetcher.OpenAll(ctx, some) {
		if o.Footer == nil {
			continue
		}
		size := sizes[o.Segment.Name.Service]
		for _, b := range o.Footer.Blocks {
			size.Bytes += b.Raw - int64(b.Records)*columnBytes
			size.Records += b.Records
		}
		sizes[o.Segment.Name.Service] = size
	}
	return sizes, context.Cause(ctx)
}
