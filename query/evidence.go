package query

import (
	"context"
	"errors"
	"maps"
	"slices"

	"logstow/field"
)

// Explain lists the likely reasons why a plan of the query has no match, the likeliest
// first; it is to be called after the plan was read. defaulted says that no range was given.
//
// It goes by what the query listed and read anyway. Only if nothing was listed for a
// service, or nothing in the range, it lists names: those of services, and the prefixes
// towards the newest record, as [Query.Newest] does. What cannot be listed then is not
// explained; only the end of ctx is an error.
func (q *Query) Explain(ctx context.Context, p *Plan, defaulted bool) ([]Reason, error) {
	e := q.evidence(p, defaulted)
	none := e.segments+e.foreign == 0
	if none || !q.tally.findings.listedAll(q.sel.Services) {
		e.services, e.servicesKnown = q.allServices(ctx)
	}
	selected := 0
	for _, name := range e.services {
		if q.sel.matchesService(name) {
			selected++
		}
	}
	if none && selected > 0 && selected <= maxNewest {
		if last, service, found, err := q.Newest(ctx); err == nil && found {
			e.newest, e.newestOf = last, service
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return explain(e), nil
}

// maxNewest is the number of services up to which the newest record is looked for.
const maxNewest = 100

// allServices are the services of all stores, if all can be listed.
func (q *Query) allServices(ctx context.Context) (all []string, known bool) {
	ctx, done := q.meter.stepContext(ctx)
	defer done()
	var failures []error
	for i := range q.stores {
		names, err := Services(ctx, q.stores[i])
		all = append(all, names...)
		failures = append(failures, err)
	}
	slices.Sort(all)
	return slices.Compact(all), errors.Join(failures...) == nil
}

// evidence is what is known without further requests.
func (q *Query) evidence(p *Plan, defaulted bool) *evidence {
	f := &q.tally.findings
	f.mu.Lock()
	defer f.mu.Unlock()
	e := &evidence{
		sel: &q.sel, defaulted: defaulted, indexed: q.opts.Plan == PlanIndex, segments: f.segments, foreign: f.foreign, levels: f.levels, recordsKnown: true,
		sources: slices.Sorted(maps.Keys(f.sources)), sourcesKnown: len(f.sources) > 0 && !f.many && f.foreign == 0,
		sample: f.sample.show(q.matcher, &q.sel),
	}
	for i := range f.rejected {
		e.rejected[i] = f.rejected[i].Load()
	}
	for _, s := range p.Segments {
		e.bytes += s.Size
		e.records += s.Meta.Records
		e.recordsKnown = e.recordsKnown && !s.Foreign
		if len(e.planned) == 0 || e.planned[len(e.planned)-1] != s.Name.Service {
			e.planned = append(e.planned, s.Name.Service)
		}
	}
	slices.Sort(e.planned)
	e.planned = slices.Compact(e.planned)
	return e
}

const (
	// maxNames and maxValues bound the names of fields and values of a field that are looked at.
	maxNames  = 2000
	maxValues = 1000
)

// show looks at a sample with a query's patterns and expression.
func (s *sample) show(m *matcher, sel *Selection) sampled {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := sampled{all: !s.part}
	for _, program := range m.where {
		for _, use := range program.Uses() {
			out.uses = append(out.uses, sampledUse{Use: use, kinds: map[field.Kind]int{}})
		}
	}
	names, values := map[string]bool{}, make([]map[string]bool, len(out.uses))
	finders := make([]*field.Finder, len(out.uses))
	for i := range out.uses {
		finders[i], values[i] = field.New(out.uses[i].Field), map[string]bool{}
	}
	occurs := make([]occurrence, len(m.required)) // present: as it is written; inside: in another case
	sources := map[string]bool{}
	for f, message := range s.records() {
		out.records++
		sources[string(f.source)] = true
		for i, finder := range finders {
			v := finder.Find(message)
			if v.Kind != field.Missing {
				out.uses[i].kinds[v.Kind]++
			}
			if v.IsText() && len(values[i]) < maxValues {
				values[i][string(v.Text)] = true
			}
		}
		if len(finders) > 0 && len(names) < maxNames {
			for name := range field.All(message) {
				names[name] = true
			}
		}
		for i, p := range sel.Patterns {
			folded := newLiteral([]byte(p), true, false)
			if m.required[i].index(message) >= 0 {
				occurs[i] = present
			} else if occurs[i] == absent && folded.index(message) >= 0 {
				occurs[i] = inside
			}
		}
	}
	out.names, out.sources = slices.Sorted(maps.Keys(names)), slices.Sorted(maps.Keys(sources))
	for i := range out.uses {
		out.uses[i].values = slices.Sorted(maps.Keys(values[i]))
	}
	for i, found := range occurs {
		if found == inside {
			out.otherCase = append(out.otherCase, sel.Patterns[i])
		}
	}
	return out
}
