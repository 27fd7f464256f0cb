package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/query"
	"logstow/query/output"
)

func queryCommand(env environment) *ucli.Command {
	flags := slices.Concat(fileFlag(), selectionFlags(), cli.Categorize(categoryOutput,
		&ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FORMAT`: raw, text, json, flat, csv, parquet, pretty or template=TEXT; all but pretty use UTC without --tz (default: pretty on a terminal, else text)"},
		&cli.ListFlag{Name: "fields", Commas: true, Usage: "`NAME`: print only these columns: time, level, service, source, instance, message or fields of the message; a list, repeatable"},
		&ucli.IntFlag{Name: "limit", Aliases: []string{"n"}, Usage: "`N`: print only the first N matches; with -f, end after them (default: all)"},
		&ucli.BoolFlag{Name: "newest", Usage: "print the newest record first; with -n, the newest N"},
		&ucli.IntFlag{Name: "tail", Usage: "`N`: print only the last N records, oldest first; with -f, before new ones"},
		&ucli.IntFlag{Name: "after-context", Aliases: []string{"A"}, Usage: "`N`: print N records of the same source and instance after each match, at most an hour away"},
		&ucli.IntFlag{Name: "before-context", Aliases: []string{"B"}, Usage: "`N`: print N records of the same source and instance before each match, at most an hour away"},
		&ucli.IntFlag{Name: "context", Aliases: []string{"C"}, Usage: "`N`: both -A and -B, which override it"},
		&cli.ListFlag{Name: "sort", Commas: true, Usage: "`ITEM`: print in the order of a field's values: NAME, or NAME desc for the largest first; with -n, the first N; a list, repeatable"},
		&ucli.StringFlag{Name: "distinct", Usage: "`NAME`: print only the different values of a field, with their counts in json and csv"},
		&ucli.BoolFlag{Name: "count", Aliases: []string{"c"}, Usage: "print only the number of matching records"},
		&ucli.StringFlag{Name: "color", Value: "auto", Usage: "`MODE`: colour levels, services and matches: auto (on a terminal), always or never"},
		&ucli.BoolFlag{Name: "wrap", Usage: "in pretty, wrap long lines instead of cutting them at the terminal's width"},
		&ucli.BoolFlag{Name: "explain", Usage: "also report the plan, bytes read and estimated cost on standard error; as JSON with -o json"},
	), cli.Categorize(categoryFollow,
		&ucli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "poll for new segments and print their records, until interrupted; with a range or --tail, print those records first; with --file, follow files as tail -F does"},
		&ucli.StringFlag{Name: "follow-window", Usage: "`DURATION`: maximum age of records that arrive late and are still printed (default: 2h)"},
		&ucli.StringFlag{Name: "follow-interval", Usage: "`DURATION`: interval between polls (default: 1s while shippers respond to watches, else 2s)"},
		&ucli.BoolFlag{Name: "no-watch", Usage: "with -f, do not create watches, which make shippers flush early"},
	), freshFlag(), limitFlags(), memoryFlag("records of --sort and values of --distinct"))
	return &ucli.Command{
		Name:  "query",
		Usage: "print the records that contain every PATTERN",
		UsageText: `logq query -s shop --since 2h -l error+ timeout
logq query --since 1d --where 'status >= 500' --sort 'took_ms desc' -n 20
logq query --from '2026-11-20 15:04' --to '2026-11-20 15:06' -C 3 order-12345`,
		ArgsUsage: "[PATTERN...]",
		Description: `Prints the records of a time range, of all selected services in order of time. A
record matches when its message contains every PATTERN, matches every REGEXP,
contains no excluded TEXT and meets all other flags of the selection. A PATTERN that
is an identifier (at least seven letters, digits and _, with a digit, joined by . -
or :) matches whole identifiers: order-12345 does not find order-123456, except with
--substring. Other patterns match anywhere in the message.

EXPR compares fields with ==, !=, <, <=, >, >=, in, contains, startsWith, endsWith
and matches (a regular expression), joined by and, or, not: level >= "warn" and
has(user). time, level, service, source and instance are those of the record.
docs/where.md describes the rest.

The default range is the last hour; with --file, all records. A range without an end
extends to an hour past now, for clocks that are ahead. Flags may be given before or
after patterns; -- ends the flags. Lists are split at commas outside quotes and
brackets.

-o raw prints the message as logged, text the time, level, source and message
separated by TABs, json one object per record, flat the same with the fields of the
message, csv a header and one line per record. A template is a Go template:
template='{{.time}} {{.message}}'.

--file - prints records as they arrive, not in order of time, unless another flag needs
all of them. -f --file FILE prints the records of a file, then those that are written to
it, through rotation.

A pipe that is closed early (logq ... | head) ends the query with status 0.

Exit status: 0 found, 1 nothing matched, 2 wrong command line, 3 incomplete (what
could be read is printed, and what could not be read is reported), 4 access denied,
130 interrupted.`,
		Flags:  flags,
		Action: quietPipe(func(c *ucli.Context) error { return runQuery(c.Context, c, env) }),
	}
}

func runQuery(ctx context.Context, c *ucli.Context, env environment) (err error) {
	r, err := readRequest(c, env)
	if err != nil {
		return err
	}
	// Errors in the selection and the format are reported before a store is opened.
	compiled, err := newQuery(nil, r.sel, r.opts)
	if err != nil {
		return err
	}
	r.output.Highlight, r.output.Parser = compiled.Highlight, compiled.Parser
	looking, cancel := context.WithCancelCause(ctx) // ends when the pager is left
	defer cancel(nil)
	shown := env.display(looking, !r.follow && !r.count && !r.arriving, r.progress.end, cancel)
	r.env.stdout = shown
	var out *output.Writer // nil for a count and for values
	if r.count || r.distinct != nil {
		err = output.Check(r.output.Format)
	} else {
		out, err = output.New(shown, r.output)
	}
	finish := sync.OnceValue(func() error {
		defer r.progress.end()
		if out == nil {
			return shown.Close()
		}
		return errors.Join(out.Close(), shown.Close())
	})
	defer func() {
		if closeErr := finish(); err == nil {
			err = closeErr
		}
	}()
	if err != nil {
		return err
	}
	switch {
	case r.arriving:
		return r.answer(ctx, c, compiled, func(q *query.Query) (bool, error) { return r.printArriving(looking, c, q, out, finish) })
	case r.follow && r.files:
		return r.followFiles(looking, c, compiled, out)
	case r.follow:
		return r.withStores(ctx, c, compiled, func(q *query.Query, stores []query.Store) error {
			return r.followNew(looking, stores, q, out)
		})
	}
	return r.answer(ctx, c, compiled, func(q *query.Query) (bool, error) {
		n, p, err := r.printFound(looking, q, out)
		if err == nil || errors.Is(err, query.ErrBudget) {
			err = cmp.Or(finish(), err) // on a terminal messages come behind the records
		}
		switch {
		case err != nil:
			return false, err
		case n == 0 && !r.empty:
			return false, r.explainNone(ctx, q, p)
		}
		r.noteMissing(q, r.emptyColumns(out))
		return n > 0, nil
	})
}

// emptyColumns are the named fields of the message that no printed record has.
func (r *request) emptyColumns(out *output.Writer) (names []string) {
	if out != nil {
		names = out.EmptyFields()
	}
	for _, name := range r.unsorted {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// printFound prints the matching records, their values or their number, and returns it with the plan.
func (r *request) printFound(ctx context.Context, q *query.Query, out *output.Writer) (n uint64, p *query.Plan, err error) {
	if r.distinct != nil {
		return r.printDistinct(ctx, q)
	}
	if p, err = r.plan(ctx, q); err != nil {
		return 0, nil, err
	}
	if r.count {
		if n, err = q.Count(ctx, p); err != nil {
			return 0, p, err
		}
		if limit := uint64(r.sel.Limit); limit > 0 {
			n = min(n, limit)
		}
		if report := q.Report(); report.SegmentsListed == 0 && len(report.Problems) > 0 {
			return n, p, nil // nothing was found, and a store could not be read: the number of records is unknown
		}
		return n, p, output.WriteCount(r.env.stdout, r.output.Format, n)
	}
	emit := func(m query.Match) error {
		if n++; n == 1 && r.sort != nil {
			r.unsorted = r.missingOrder(q, &m)
		}
		r.progress.matches.Store(int64(n))
		return out.Write(m)
	}
	switch {
	case r.tail > 0:
		err = r.printTail(ctx, q, p, emit)
	case r.around != (query.ContextLines{}):
		err = q.RunContext(ctx, p, r.around, emit)
	case r.sort != nil:
		err = q.Sort(ctx, p, r.sort, emit)
	default:
		err = q.Run(ctx, p, emit)
	}
	return n, p, err
}
