package main

import (
	"context"

	"logstow/internal/cli"
	"logstow/internal/units"
	"logstow/query"
	"logstow/query/output"
	"logstow/query/sorting"
)

// readSort reads --sort, --distinct and --memory.
func (r *request) readSort() (err error) {
	sorted, distinct := r.c.IsSet("sort"), r.c.IsSet("distinct")
	switch {
	case !sorted && !distinct:
		return nil
	case sorted:
		if r.sort, err = sorting.Parse(cli.List(r.c, "sort")); err != nil {
			return cli.Usagef("--sort: %w", err)
		}
	default:
		name, err := query.DistinctName(r.c.String("distinct"))
		if err != nil {
			return cli.Usagef("--distinct: %w", err)
		}
		r.distinct = &name
	}
	return r.readMemory()
}

// printDistinct prints the values of --distinct and returns their number with the plan.
func (r *request) printDistinct(ctx context.Context, q *query.Query) (n uint64, p *query.Plan, err error) {
	w, err := output.NewDistinctWriter(r.env.stdout, r.output.Format, r.output.Terminal)
	if err != nil {
		return 0, nil, err
	}
	defer func() {
		if closeErr := w.Close(); err == nil {
			err = closeErr
		}
	}()
	if p, err = r.plan(ctx, q); err != nil {
		return 0, nil, err
	}
	sum, err := q.Distinct(ctx, p, *r.distinct, func(v query.DistinctValue) error {
		n++
		return w.Write(v)
	})
	if err != nil {
		return n, p, err
	}
	notes := len(r.notes)
	if sum.Unseen {
		r.noteMissing(q, []string{r.distinct.Field})
	}
	if sum.Missing > 0 && len(r.notes) == notes {
		r.notef("left out %d of %s, without %s", sum.Missing, units.Count(sum.Records, "record"), r.distinct.Text)
	}
	r.empty = sum.Records > 0
	return n, p, nil
}
