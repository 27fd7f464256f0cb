package main

import (
	"cmp"
	"context"
	"errors"
	"sync"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/query"
	"logstow/query/output"
)

func queryCommand(env environment) *ucli.Command {
	flags := append(selectionFlags(),
		&ucli.IntFlag{Name: "limit", Aliases: []string{"n"}, Usage: "stop after `N` records"},
		&ucli.BoolFlag{Name: "newest", Usage: "the newest record first"},
		&ucli.IntFlag{Name: "after-context", Aliases: []string{"A"}, Usage: "print `N` records of the same source after each match too"},
		&ucli.IntFlag{Name: "before-context", Aliases: []string{"B"}, Usage: "print `N` records of the same source before each match too"},
		&ucli.IntFlag{Name: "context", Aliases: []string{"C"}, Usage: "print `N` records of the same source before and after each match too"},
		&ucli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "then keep looking for new segments, until interrupted"},
		&ucli.StringFlag{Name: "follow-window", Usage: "with -f, look for new segments in the last `DURATION` (default: 2h)"},
		&ucli.StringFlag{Name: "follow-interval", Usage: "with -f, look every `DURATION` (default: 2s)"},
		&ucli.IntFlag{Name: "tail", Usage: "print only the last `N` records, in order of time; with -f, before what follows"},
		&ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FORMAT`: raw, text, json, csv or pretty (default: pretty on a terminal, else text)"},
		&ucli.StringFlag{Name: "color", Value: "auto", Usage: "colour levels and what was found `WHEN`: auto (on a terminal, unless $NO_COLOR is set), always or never"},
		&ucli.StringFlag{Name: "fields", Usage: "print only these `COLUMNS`, separated by commas: time, level, service, source, instance, message, or fields of the message"},
		&ucli.BoolFlag{Name: "count", Usage: "print the number of matching records only"},
		&ucli.BoolFlag{Name: "explain", Usage: "say on standard error what was planned, read and paid; with -o json as two JSON objects, before and after"},
	)
	return &ucli.Command{
		Name:      "query",
		Usage:     "print the records that hold every PATTERN",
		ArgsUsage: "[PATTERN...]",
		Description: `Prints the records of a time range, of all selected services in one order of
time. A record matches when its message holds every PATTERN, matches every
REGEXP and holds no excluded TEXT. An identifier (at least seven letters,
digits and _, with a digit, joined by . - or :) matches as a whole:
order-12345 does not find order-123456, except with --substring. With -i,
regular expressions fold as (?i) does.

Without a range it is the last hour. --since and --from reach an hour past now,
for clocks that are ahead.

A pipe that is closed early (logq ... | head) ends the query with status 0.

Exit status: 0 found, 1 nothing matched, 2 wrong command line, 3 incomplete
(what could be read is printed, what could not is named), 4 access refused, 130
interrupted.`,
		Flags:  flags,
		Action: quietPipe(func(c *ucli.Context) error { return runQuery(c.Context, c, env) }),
	}
}

func runQuery(ctx context.Context, c *ucli.Context, env environment) (err error) {
	r, err := readRequest(c, env)
	if err != nil {
		return err
	}
	// The selection and the format are checked before a store is opened, for their own messages.
	checked, err := newQuery(nil, r.sel, r.opts)
	if err != nil {
		return err
	}
	r.output.Highlight = checked.Highlight
	looking, cancel := context.WithCancelCause(ctx) // ends when the pager is left
	defer cancel(nil)
	shown := env.display(looking, !r.follow && !r.count, r.progress.end, cancel)
	r.env.stdout = shown
	var out *output.Writer // nil for a count
	if r.count {
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
		return cli.Usagef("--output: %w", err)
	}
	stores, closeStores, err := env.openStores(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStores()) }()
	r.coverIndex(stores)
	q, err := newQuery(stores, r.sel, r.opts)
	if err != nil {
		return err
	}
	r.noteIndex()
	r.noteRange()
	if r.follow {
		return r.followNew(looking, stores, q, out)
	}
	n, p, err := r.answer(looking, q, out)
	if err == nil || errors.Is(err, query.ErrBudget) {
		err = cmp.Or(finish(), err) // on a terminal messages come behind the records
	}
	report := q.Report()
	if errors.Is(err, query.ErrBudget) {
		r.tell(&report)
	}
	if err != nil {
		return r.overBudget(err)
	}
	if n == 0 {
		if err = r.explainNone(ctx, q, p); err != nil {
			return err
		}
		report = q.Report()
	}
	r.tell(&report)
	if s := status(&report, n > 0, stores); s != cli.OK {
		err = cli.Exit(s)
	}
	return err
}

// answer prints the matching records, or their number, and returns it with the plan.
func (r *request) answer(ctx context.Context, q *query.Query, out *output.Writer) (n uint64, p *query.Plan, err error) {
	r.progress.watch(&r.env, q)
	if p, err = q.Plan(ctx); err != nil {
		return 0, nil, err
	}
	r.noteFuture(p)
	r.progress.aside(&r.env, func() { r.before(q, p) })
	r.progress.planned(q, p)
	if r.count {
		if n, err = q.Count(ctx, p); err != nil {
			return 0, p, err
		}
		if limit := uint64(r.sel.Limit); limit > 0 {
			n = min(n, limit)
		}
		return n, p, output.WriteCount(r.env.stdout, r.output.Format, n)
	}
	print := func(m query.Match) error {
		n++
		r.progress.matches.Store(int64(n))
		return out.Write(m)
	}
	switch {
	case r.tail > 0:
		err = r.printTail(ctx, q, p, print)
	case r.around != (query.Around{}):
		err = q.RunContext(ctx, p, r.around, print)
	default:
		err = q.Run(ctx, p, print)
	}
	return n, p, err
}
