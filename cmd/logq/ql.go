package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/correct"
	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/units"
	"logstow/logql/engine"
	"logstow/logql/storage"
	"logstow/logql/syntax"
	"logstow/query"
	"logstow/query/report"
)

func qlCommand() *ucli.Command {
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
TABs. json prints one object per line, with attributes and fields of text as "fields",
loki the response of Loki's API, which is
printed even if nothing is found and which holds all records in memory.

Exit status: 0 found, 1 nothing found, 2 wrong command line or query, 3 incomplete
or failed, 4 access denied, 130 interrupted.`,
	}
}

// qlRequest is the command line of ql.
type qlRequest struct {
	*request
	query  syntax.Expr
	step   time.Duration
	format string
}

func runQL(c *ucli.Context, env environment) error {
	if c.NArg() != 1 {
		return hint.Wrap(cli.Usagef("want one QUERY, not %d arguments", c.NArg()),
			"put the query in single quotes: logq ql '{service_name=\"shop\"}'")
	}
	return runLogQL(c, env, c.Args().First(), 0)
}

// runLogQL runs a query in LogQL; since is the length of its range before now if the command line has no range, 0 the default.
func runLogQL(c *ucli.Context, env environment, text string, since time.Duration) error {
	r, err := readQL(c, env, text, since)
	if err != nil {
		return err
	}
	return env.withStores(c.Context, c, func(stores []query.Store) error { return r.answer(c.Context, stores) })
}

// answer answers the query from stores, then prints the report. The error has the exit status.
func (r *qlRequest) answer(ctx context.Context, stores []query.Store) error {
	r.begin(stores)
	view := storage.New(stores, r.opts, r.env.now).View(storage.Access{})
	var n int
	err := r.env.paged(ctx, func(env *environment) (err error) {
		out := newQLWriter(env.stdout, r.format, r.outputZone(r.format), env.out.columns)
		n, err = r.print(ctx, view, out)
		return errors.Join(err, out.close())
	})
	if n > 0 && err == nil {
		r.noteMissingServices(ctx, view)
	}
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
		if err := r.printNothing(ctx, view, stores); err != nil {
			return err
		}
	}
	return cmp.Or(status(&report, n > 0, stores), err)
}

// readQL reads the query and the command line, see [runLogQL].
func readQL(c *ucli.Context, env environment, text string, since time.Duration) (*qlRequest, error) {
	expr, err := syntax.Parse(text)
	if err != nil {
		err = cli.Usagef("%w", err)
		if meant := correct.Meant(c.Args().First()); meant != "" {
			command := commandOf(c)
			command.Args = []string{meant}
			err = hint.Wrap(err, "did you mean %s?", command.String())
		}
		return nil, err
	}
	common, err := newRequest(c, env)
	if !common.ranged && since > 0 {
		common.span.from = common.now.Add(-since)
	}
	r := &qlRequest{request: common, query: expr, format: c.String("output")}
	r.sel = query.Selection{From: r.span.from, To: r.span.to, Now: env.now(), Newest: c.Bool("newest")}
	for _, read := range []func() error{r.readLimit, r.readOptions, r.readStep} {
		if err == nil {
			err = read()
		}
	}
	return r, err
}

// readStep reads --step, and checks what is for one kind of query.
func (r *qlRequest) readStep() (err error) {
	c := r.c
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
		err = e.Logs(ctx, expr, engine.LogParams{
			From:     from,
			To:       to,
			Newest:   r.sel.Newest,
			Limit:    r.sel.Limit,
			Unparsed: r.format == report.Table,
			Fields:   r.format == report.JSON,
		}, func(entry *engine.Entry) error {
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
			err = out.value(value, r.step, &report)
		}
	default:
		err = fmt.Errorf("a query of type %T", expr)
	}
	return n, err
}
