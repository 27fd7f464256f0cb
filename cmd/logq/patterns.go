package main

import (
	"context"
	"fmt"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/timearg"
	"logstow/internal/units"
	"logstow/query"
	"logstow/query/match"
	"logstow/query/patterns"
	"logstow/query/report"
)

// patternsMemory is the memory for the shapes of messages, in bytes, beyond that of other commands.
const patternsMemory = 160 << 20

func patternsCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "patterns",
		Usage: "print the templates of messages, of one range or of two compared",
		UsageText: `logq patterns -s shop --since 1h -l warn+
logq patterns --since 3h --before '1 hour ago' -n 10
logq patterns --from -26h --before -25h --after -2h --to -1h -l warn+`,
		ArgsUsage: "[PATTERN...]",
		Description: fmt.Sprintf(`Groups the records that query would print (logq query --help has the rules of the
selection) by the template of their message: its constant words, with %s for what
varies. Prints for each template the number of records, their share of all selected
records, the times of the first and the last record, and an example. The template of
a JSON or logfmt message is that of its text (msg, message, log), the template of a
message of several lines that of its first line.

--before and --after compare two ranges: --from A --before B --after C --to D prints
the differences between A to B and C to D, with records per hour: templates that are
new or gone, and templates that are at least twice or at most half as frequent and
have at least 10 records in one of the ranges. One of the two flags sets both.
Without --to the second range ends now. The default range is the last hour; with
--file, all records.

logq query --pattern TEMPLATE prints the records of a template. As %[1]s matches
any text, they include those of templates that are more specific.

Exit status: 0 found, 1 nothing matched or nothing changed, 2 wrong command line,
3 incomplete or failed, 4 access denied, 130 interrupted.`, patterns.Wildcard),
	}
}

// patternsRequest is the command line of patterns.
type patternsRequest struct {
	*request
	format string
	// compare is set if two ranges are compared.
	compare bool
	limit   int // 0 is none
	// zone is that of printed times.
	zone *time.Location
}

func runPatterns(c *ucli.Context, env environment) error {
	r, err := readPatterns(c, env)
	if err != nil {
		return err
	}
	ctx := c.Context
	env.limitMemory(memoryLimit + patternsMemory)
	err = r.answer(func(q *query.Query) (bool, error) {
		result, p, err := r.templates(ctx, q)
		if err != nil {
			return false, err
		}
		if result.Records == [2]uint64{} {
			if err := r.explainNone(ctx, q, p); err != nil {
				return false, err
			}
		}
		var printed int
		err = env.paged(ctx, func(env *environment) (err error) {
			printed, err = r.print(env, result)
			return err
		})
		if err != nil {
			return false, err
		}
		r.note(result, printed)
		return printed > 0, nil
	})
	if err == nil && r.format == report.Table && env.out.terminal() {
		env.hint("logq query --pattern TEMPLATE prints the records of a template")
	}
	return err
}

// readPatterns reads the command line.
func readPatterns(c *ucli.Context, env environment) (*patternsRequest, error) {
	common, err := newSearch(c, env)
	if err != nil {
		return nil, err
	}
	r := &patternsRequest{request: common}
	if err := r.readRanges(); err != nil {
		return nil, err
	}
	if err := r.readLimit(); err != nil {
		return nil, err
	}
	r.format, r.compare = c.String("output"), r.compared != nil
	r.limit, r.sel.Limit, r.zone = r.sel.Limit, 0, r.outputZone(r.format)
	if r.limit == 0 && r.format == report.Table {
		r.limit = tableRows
	}
	return r, nil
}

// readRanges reads --before, the end of a range, and --after, the start of one.
func (r *patternsRequest) readRanges() error {
	c, now := r.c, r.now
	if !c.IsSet("before") && !c.IsSet("after") {
		return nil
	}
	var inner [2]time.Time
	for i, name := range []string{"before", "after"} {
		if !c.IsSet(name) {
			name = [2]string{"after", "before"}[i]
		}
		parse := timearg.Parse
		if name == "before" {
			parse = timearg.ParseEnd
		}
		var err error
		if inner[i], err = parse(c.String(name), now); err != nil {
			return cli.Usagef("--%s: %w", name, err)
		}
	}
	if r.span.open { // the time after now would make the rate of the second range too low
		r.span.to = now
	}
	r.compared = []span{{from: r.span.from, to: inner[0]}, {from: inner[1], to: r.span.to}}
	at := func(t time.Time) string { return t.Format(time.RFC3339) }
	var err error
	switch {
	case !r.span.from.Before(inner[0]):
		err = cli.Usagef("the first range is empty: its start %s is not before its end %s", at(r.span.from), at(inner[0]))
	case inner[1].Before(inner[0]):
		err = cli.Usagef("the ranges overlap: --after %s is before --before %s", at(inner[1]), at(inner[0]))
	case !inner[1].Before(r.span.to):
		err = cli.Usagef("the second range is empty: its start %s is not before its end %s", at(inner[1]), at(r.span.to))
	default:
		r.sel.To = r.span.to
		return nil
	}
	return hint.Wrap(err, "the order is --from A --before B --after C --to D")
}

// templates plans, counts and makes templates; it returns the plan too.
func (r *patternsRequest) templates(ctx context.Context, q *query.Query) (*patterns.Result, *query.Plan, error) {
	r.progress.watch(&r.env, q)
	defer r.progress.end()
	read := []span{r.span}
	if r.compare && r.compared[0].to.Before(r.compared[1].from) { // what is between them is not read
		read = r.compared
	}
	queries, plans, all := make([]*query.Query, len(read)), make([]*query.Plan, len(read)), &query.Plan{}
	for i, one := range read {
		sel := r.sel
		sel.From, sel.To = one.from, one.to
		var err error
		if queries[i], err = q.With(sel); err != nil {
			return nil, nil, err
		}
		if plans[i], err = queries[i].Plan(ctx); err != nil {
			return nil, nil, err
		}
		all.Segments = append(all.Segments, plans[i].Segments...)
	}
	r.planned(q, all)
	counter := r.counter(all)
	total := counter()
	for i := range read {
		counted, err := queries[i].PatternsOf(ctx, plans[i], nil, counter)
		if err != nil {
			return nil, nil, err
		}
		total.Merge(counted)
	}
	return total.Result(), all, nil
}

// counter makes counters of the records of a plan.
func (r *patternsRequest) counter(p *query.Plan) func() *patterns.Counter {
	if !r.compare {
		return func() *patterns.Counter { return patterns.NewCounter(patterns.Always()) }
	}
	before := patterns.Range{From: match.Nanos(r.compared[0].from), To: match.Nanos(r.compared[0].to)}
	after := patterns.Range{From: match.Nanos(r.compared[1].from), To: match.Nanos(r.compared[1].to)}
	if r.files && len(p.Segments) > 0 && (!r.ranged || r.span.open) { // the range ends with the last record of the files
		first, last := p.Segments[0].Meta.Start, p.Segments[0].Meta.End
		for _, s := range p.Segments {
			first, last = min(first, s.Meta.Start), max(last, s.Meta.End)
		}
		after.To = max(after.From, last+1)
		if !r.ranged {
			before.From = min(before.To, first)
		}
	}
	return func() *patterns.Counter { return patterns.NewComparison(before, after) }
}

// note adds notes of what the templates are based on, and why none is printed.
func (r *patternsRequest) note(result *patterns.Result, printed int) {
	if result.Coarse {
		r.notef("templates are coarse: the messages have more than %d shapes, so words with many values count as variable; select fewer records for better ones",
			patterns.MaxShapes)
	}
	if n := result.Ungrouped[0] + result.Ungrouped[1]; n > 0 {
		r.notef("no template for %s: the messages have too many shapes", units.Count(n, "record"))
	}
	switch {
	case !r.compare || result.Records == [2]uint64{}:
	case result.Records[0] == 0:
		r.notef("no records before %s to compare with", r.compared[0].to.Format(time.RFC3339))
	case result.Records[1] == 0:
		r.notef("no records after %s to compare with", r.compared[1].from.Format(time.RFC3339))
	case printed == 0:
		r.notef("nothing changed: %s before and %d after have the same templates, and none of 10 records or more is twice or half as frequent",
			units.Count(result.Records[0], "record"), result.Records[1])
	}
}
