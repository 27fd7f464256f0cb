package main

import (
	"context"
	"fmt"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/units"
	"logstow/query"
	"logstow/query/output"
)

// readSort reads --sort, --distinct and --memory, after the flags that they cannot be used with.
func (r *request) readSort(c *ucli.Context) (err error) {
	sorted, distinct := c.IsSet("sort"), c.IsSet("distinct")
	if !sorted && !distinct {
		if c.IsSet("memory") {
			return cli.Usagef("--memory requires --sort or --distinct")
		}
		return nil
	}
	if err := checkSort(c, sorted); err != nil {
		return err
	}
	if sorted {
		if r.sort, err = query.ParseSort(cli.List(c, "sort")); err != nil {
			return cli.Usagef("--sort: %w", err)
		}
	}
	if distinct {
		name, err := query.DistinctName(c.String("distinct"))
		if err != nil {
			return cli.Usagef("--distinct: %w", err)
		}
		r.distinct = &name
	}
	if r.opts.GroupMemory, err = groupMemory(c); err != nil {
		return err
	}
	r.env.limitGroups(r.opts.GroupMemory)
	return nil
}

// checkSort reports flags that --sort or --distinct cannot be used with.
func checkSort(c *ucli.Context, sorted bool) error {
	const around = "context is printed in the order of time"
	name, others := "sort", [][2]string{
		{"follow", "records that come later may belong before printed ones"},
		{"newest", "--sort sets the order; write --sort 'time desc'"},
		{"tail", "--sort sets the order; reverse it with asc or desc, and use -n"},
		{"after-context", around},
		{"before-context", around},
		{"context", around},
		{"distinct", "values are sorted by their bytes"},
	}
	if !sorted {
		const values = "values are printed, not records"
		name, others = "distinct", [][2]string{
			{"follow", "values are printed once all records are read"},
			{"newest", "values are sorted by their bytes"},
			{"tail", "values are sorted by their bytes"},
			{"after-context", values},
			{"before-context", values},
			{"context", values},
			{"fields", values},
			{"count", "logq stats --compute 'distinct(NAME)' counts values"},
		}
	}
	for _, one := range others {
		if c.IsSet(one[0]) {
			return cli.Usagef("--%s cannot be used together with --%s: %s", name, one[0], one[1])
		}
	}
	return nil
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
		r.notes = append(r.notes, fmt.Sprintf("left out %d of %s, without %s", sum.Missing, units.Count(sum.Records, "record"), r.distinct.Text))
	}
	r.empty = sum.Records > 0
	return n, p, nil
}
