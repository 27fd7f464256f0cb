package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	ucli "github.com/urfave/cli/v2"

	"logstow/query"
	"logstow/query/output"
)

func queryCommand() *ucli.Command {
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
	}
}

func runQuery(c *ucli.Context, env environment) (err error) {
	r, err := readRequest(c, env)
	if err != nil {
		return err
	}
	// Errors in the selection and the format are reported before a store is opened.
	if err := r.compile(); err != nil {
		return err
	}
	r.output.Highlight, r.output.Parser = r.compiled.Highlight, r.compiled.Parser
	ctx := c.Context
	looking, cancel := context.WithCancelCause(ctx) // ends when the pager is left
	defer cancel(nil)
	shown := env.display(looking, !r.follow && !r.count && !r.arriving, r.progress.end, cancel)
	r.env.stdout = shown
	var out *output.Writer // nil for a count and for values
	if !r.count && r.distinct == nil {
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
		return r.answer(func(q *query.Query) (bool, error) { return r.printArriving(looking, q, out, finish) })
	case r.follow && r.files:
		return r.followFiles(looking, out)
	case r.follow:
		return r.withStores(func(q *query.Query, stores []query.Store) error {
			return r.followNew(looking, stores, q, out)
		})
	}
	return r.answer(func(q *query.Query) (bool, error) {
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
	err = r.find(ctx, q, p, emit)
	return n, p, err
}

// find calls emit with the records of a plan that the command line selects, in its order.
func (r *request) find(ctx context.Context, q *query.Query, p *query.Plan, emit func(query.Match) error) error {
	switch {
	case r.tail > 0:
		return r.printTail(ctx, q, p, emit)
	case r.around != (query.ContextLines{}):
		return q.RunContext(ctx, p, r.around, emit)
	case r.sort != nil:
		return q.Sort(ctx, p, r.sort, emit)
	}
	return q.Run(ctx, p, emit)
}
