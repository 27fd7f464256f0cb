package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/units"
	"logstow/logql/engine"
	"logstow/logql/storage"
	"logstow/logql/syntax"
	"logstow/query"
)

func qlCommand(env environment) *ucli.Command {
	return &ucli.Command{
		Name:  "ql",
		Usage: "run a LogQL query",
		UsageText: `logq ql --since 2h '{service_name="shop"} |= "timeout" | json | status >= 500'
logq ql --since 1d 'sum by (level) (count_over_time({service="shop"}[1d]))'
logq ql --since 6h --step 5m 'sum by (level) (rate({service="shop"}[5m]))'`,
		ArgsUsage: "QUERY",
		Description: `Runs a query in LogQL, the language of Grafana Loki, as logq serve does.
docs/logql.md lists what is supported and what differs from Loki.

A log query prints the records of the range, the oldest first. A metric query is
evaluated at the end of the range, --to or now; with --step it is evaluated at every
multiple of the step from that before the start of the range to that after its end.
A window [5m] at a time t contains the records from 5 minutes before t, excluded, up
to t, included.

The labels of records are service_name, level and instance; a selector may also use
source. | json and | logfmt turn the fields of messages into labels.

-o table prints log records as text: time, level, service and message, separated by
TABs. json prints one object per line, loki the response of Loki's API, which is
printed even if nothing is found and which holds all records in memory.

Exit status: 0 found, 1 nothing found, 2 wrong command line or query, 3 incomplete
or failed, 4 access denied, 130 interrupted.`,
		Flags: slices.Concat(storeFlags(), timeFlags(), cli.Categorize(categoryOutput,
			&ucli.StringFlag{Name: "step", Usage: "`DURATION`: evaluate a metric query at every step of the range, such as 1m (default: once, at its end)"},
			&ucli.IntFlag{Name: "limit", Aliases: []string{"n"}, Usage: "`N`: print only the first N records (default: all)"},
			&ucli.BoolFlag{Name: "newest", Usage: "print the newest record first; with -n, the newest N"},
			&ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: qlTable, Usage: "`FORMAT`: table, csv, json (one object per line) or loki; all but table use UTC without --tz"},
			&ucli.BoolFlag{Name: "explain", Usage: "also report the plan, bytes read and estimated cost on standard error"},
		), limitFlags()),
		Action: quietPipe(func(c *ucli.Context) error { return runQL(c.Context, c, env) }),
	}
}

// qlRequest is the command line of ql.
type qlRequest struct {
	*request
	query  syntax.Expr
	step   time.Duration
	format string
	zone   *time.Location
}

func runQL(ctx context.Context, c *ucli.Context, env environment) (err error) {
	r, err := readQL(c, env)
	if err != nil {
		return err
	}
	stores, closeStores, err := r.env.openStores(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStores()) }()
	r.coverIndex(stores)
	r.warnIndex()
	r.printRange()
	view := storage.New(stores, r.opts, env.now).View(storage.Access{})
	var n int
	err = env.paged(ctx, func(env *environment) (err error) {
		out := newQLWriter(env.stdout, r.format, r.zone)
		n, err = r.print(ctx, view, out)
		return errors.Join(err, out.close())
	})
	report := view.Report()
	r.printReport(&report)
	switch {
	case errors.Is(err, query.ErrBudget):
		return r.overBudget(err)
	case errors.Is(err, engine.ErrQuery):
		return cli.Usagef("%w", err)
	case errors.Is(err, engine.ErrLimit):
		return hint.Wrap(err, "group the series, for example with sum by (level) (...), or take a shorter range or a longer --step")
	case err != nil && !errors.Is(err, storage.ErrIncomplete):
		return err
	}
	if n == 0 && err == nil {
		if err := r.printNothing(ctx, stores); err != nil {
			return err
		}
	}
	if s := status(&report, n > 0, stores); s != cli.OK {
		return cli.Exit(s)
	}
	return err
}

// readQL reads the command line.
func readQL(c *ucli.Context, env environment) (*qlRequest, error) {
	now := env.now()
	r := &qlRequest{request: &request{env: env, explain: c.Bool("explain")}, format: c.String("output")}
	if c.NArg() != 1 {
		return nil, hint.Wrap(cli.Usagef("want one QUERY, not %d arguments", c.NArg()), "put the query in single quotes: logq ql '{service_name=\"shop\"}'")
	}
	if err := cli.OneOf("output", r.format, qlFormats()...); err != nil {
		return nil, err
	}
	var err error
	if r.query, err = syntax.Parse(c.Args().First()); err != nil {
		return nil, cli.Usagef("%w", err)
	}
	if r.span, err = timeRange(c, now); err != nil {
		return nil, err
	}
	r.ranged = r.span.given
	r.sel = query.Selection{From: r.span.from, To: r.span.to, Now: now, Newest: c.Bool("newest")}
	if r.sel.Limit, err = readLimit(c); err != nil {
		return nil, err
	}
	if r.opts, err = readOptions(c, env); err != nil {
		return nil, err
	}
	r.request.zone, r.zone = location(c), time.UTC
	if zone, _ := givenZone(c); zone != nil || r.format == qlTable {
		r.zone = location(c)
	}
	return r, r.readStep(c)
}

// readStep reads --step, and checks what is for one kind of query.
func (r *qlRequest) readStep(c *ucli.Context) (err error) {
	if _, logs := r.query.(*syntax.LogExpr); logs {
		if c.IsSet("step") {
			return cli.Usagef("--step requires a metric query, such as count_over_time({...}[5m])")
		}
		return nil
	}
	if c.IsSet("limit") || c.IsSet("newest") {
		return hint.Wrap(cli.Usagef("--limit and --newest require a log query"), "topk(10, ...) selects the largest series")
	}
	if !c.IsSet("step") {
		return nil
	}
	if r.step, err = units.ParseDuration(c.String("step")); err != nil {
		return cli.Usagef("--step: %w", err)
	}
	if r.step <= 0 {
		return cli.Usagef("--step %v: want more than 0", r.step)
	}
	return nil
}

// print answers the query, and returns the number of records or points.
func (r *qlRequest) print(ctx context.Context, view *storage.View, out *qlWriter) (n int, err error) {
	e := &engine.Engine{Source: view, Limits: engine.DefaultLimits()}
	from, to := r.sel.From.UnixNano(), r.sel.To.UnixNano()
	switch expr := r.query.(type) {
	case *syntax.LogExpr:
		err = e.Logs(ctx, expr, engine.LogParams{From: from, To: to, Newest: r.sel.Newest, Limit: r.sel.Limit, Unparsed: r.format == qlTable}, func(entry *engine.Entry) error {
			n++
			return out.entry(entry)
		})
		if err == nil {
			report := view.Report()
			err = out.entries(&report)
		}
	case syntax.SampleExpr:
		if r.span.open { // not what clocks that are ahead may have logged
			to = r.sel.Now.UnixNano()
		}
		params := engine.MetricParams{Start: to, End: to}
		if r.step > 0 {
			params = engine.Align(from, to, r.step)
		}
		var value *engine.Value
		if value, err = e.Metric(ctx, expr, params); err == nil {
			for _, s := range value.Series {
				n += len(s.Points)
			}
			for _, warning := range value.Warnings {
				r.env.printf("%s", warning)
			}
			report := view.Report()
			err = out.value(value, r.step > 0, &report)
		}
	default:
		err = fmt.Errorf("a query of type %T", expr)
	}
	return n, err
}
