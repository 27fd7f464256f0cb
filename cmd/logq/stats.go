package main

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/units"
	"logstow/query"
	"logstow/query/aggregate"
	"logstow/query/report"
	"logstow/query/stats"
)

// tableRows is the default number of groups in a table, time steps and buckets excepted.
const tableRows = 30

func statsCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "stats",
		Usage: "count records and compute functions of fields, by groups",
		UsageText: `logq stats -s shop --since 1d --by hour,level
logq stats --by path --compute 'count, p99(took_ms)' --sort count -n 10
logq stats --by 5m,service --compute 'ratio(status >= 500)' --pivot service`,
		ArgsUsage: "[PATTERN...]",
		Description: `Groups the records that query would print (logq query --help has the rules of the
selection), and computes functions of each group. The default range is the last hour;
with --file, all records.

--by is level, service, source, instance, the name of a field of the message
(user.id), bucket(FIELD) or bucket(FIELD, WIDTH) for ranges of a number, or a time
step: 5m, 1h, 1d, minute, hour, day. Several keys group by their combinations.

--compute is a list of count, count(EXPR), ratio(EXPR), rate (records per second),
share (of all records), sum(FIELD), avg, min, max, stddev, geomean, p50 ... p99,
quantile(0.999, FIELD), distinct, first and last, each with an optional name:
ratio(status >= 500) as errors. EXPR is as in --where. Functions of numbers ignore
other values, and their number is reported.

Counts by level, time, service and instance without a pattern come from metadata and
footers: no log line is read. Results are exact, except quantiles and distinct of
groups with more than 10,000 values: these are within 1% and 2%, and are marked.
Groups beyond --memory are kept in temporary files.

Exit status: 0 found, 1 nothing matched, 2 wrong command line, 3 incomplete or
failed, 4 access denied, 130 interrupted.`,
	}
}

func runStats(c *ucli.Context, env environment) error {
	r, err := newSearch(c, env)
	if err != nil {
		return err
	}
	format := c.String("output")
	spec, err := r.statsSpec(format)
	if err != nil {
		return err
	}
	computation, err := stats.Compile(spec, r.now)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	if err := r.readMemory(); err != nil {
		return err
	}
	return r.answer(func(q *query.Query) (found bool, err error) {
		table, p, err := readPlan(r, q, func(p *query.Plan) (*query.Table, error) { return q.Stats(c.Context, p, computation) })
		if errors.Is(err, aggregate.ErrColumns) {
			err = hint.Wrap(err, "select fewer values with --where, or omit --pivot")
		}
		if err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, table.Close()) }()
		if table.Total > 0 {
			r.noteMissing(q, unseen(table))
		} else if err := r.explainNone(c.Context, q, p); err != nil {
			return false, err
		}
		return table.Total > 0, env.paged(c.Context, func(env *environment) error { return printStats(env, table, format, spec.Zone) })
	})
}

// statsSpec reads what to compute, for a format.
func (r *request) statsSpec(format string) (spec aggregate.Spec, err error) {
	c := r.c
	if format == report.Parquet {
		if err := r.env.checkParquet("stats.parquet"); err != nil {
			return spec, err
		}
	}
	by, compute := cli.List(c, "by"), cli.List(c, "compute")
	if len(by) == 0 && len(compute) == 0 {
		by = []string{"level"}
	}
	if len(compute) == 0 {
		compute = []string{"count"} // named, so that --sort knows it
		if format == report.Table {
			compute = []string{"count, share"}
		}
	}
	spec.Zone = r.outputZone(format)
	spec.From, spec.To = r.sel.From.UnixNano(), r.sel.To.UnixNano()
	switch {
	case r.files && !r.ranged: // from the first record to the last
		spec.From, spec.To = 0, 0
	case !c.IsSet("to"): // what clocks that are ahead may have logged is no part of a rate's range
		spec.To = max(spec.From, r.now.UnixNano())
	}
	if spec.By, err = aggregate.ParseBy(by); err == nil {
		spec.Compute, err = aggregate.ParseCompute(compute)
	}
	if err == nil {
		spec.Sort, err = aggregate.ParseSort(cli.List(c, "sort"), spec.By, spec.Compute)
	}
	if err != nil {
		return spec, cli.Usagef("%w", err)
	}
	if spec.Pivot = -1; c.IsSet("pivot") {
		spec.Pivot = slices.IndexFunc(spec.By, func(k aggregate.Key) bool { return k.Header == strings.TrimSpace(c.String("pivot")) })
		if spec.Pivot < 0 {
			return spec, cli.Usagef("--pivot %s: want one of the keys of --by", c.String("pivot"))
		}
	}
	if err := r.readLimit(); err != nil {
		return spec, err
	}
	spec.Limit, r.sel.Limit = r.sel.Limit, 0
	ordered := slices.ContainsFunc(spec.By, func(k aggregate.Key) bool { return !k.Step.IsZero() || k.Bucket })
	if spec.Limit == 0 && format == report.Table && !ordered {
		spec.Limit = tableRows
	}
	return spec, nil
}

// printStats prints a table, and notes about it.
func printStats(env *environment, t *query.Table, format string, zone *time.Location) error {
	if err := report.Write(env.stdout, t.Result, report.Options{Format: format, Zone: zone, Width: env.out.columns}); err != nil {
		return err
	}
	if more := t.Groups - t.Limit; t.Limit > 0 && more > 0 {
		env.printf("%s; -n shows more", units.Count(more, "more group"))
	}
	for i, f := range t.Compute {
		if t.Approximate[i] {
			bound := "1%"
			if f.Kind == aggregate.Distinct {
				bound = "2%"
			}
			env.printf("%s is approximate, within %s, in groups of more than %d values (marked with ~)", f.Header, bound,
				aggregate.ExactValues)
		}
	}
	for _, one := range t.Ignored {
		env.printf("ignored %s of %s", units.Count(one.Count, "non-numeric value"), cmp.Or(string(one.Field.Fixed), one.Field.Field))
	}
	return nil
}
