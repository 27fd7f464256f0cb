package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/query"
	"logstow/query/output"
)

func queryCommand(env environment) *ucli.Command {
	flags := append(selectionFlags(),
		&ucli.IntFlag{Name: "limit", Aliases: []string{"n"}, Usage: "stop after `N` records"},
		&ucli.BoolFlag{Name: "newest", Usage: "the newest record first"},
		&ucli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "then keep looking for new segments, every two seconds, until interrupted"},
		&ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FORMAT`: raw, text, json, csv or pretty (default: pretty on a terminal, else text)"},
		&ucli.StringFlag{Name: "fields", Usage: "print only these `COLUMNS`, separated by commas: time, level, service, source, instance, message, or fields of the message"},
		&ucli.BoolFlag{Name: "count", Usage: "print the number of matching records only"},
		&ucli.BoolFlag{Name: "explain", Usage: "say on standard error what was planned, read and paid; with -o json as one JSON object"},
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
		Action: quietPipe(func(c *ucli.Context) error { return runQuery(c, env) }),
	}
}

// request is what a query's command line asks for.
type request struct {
	env     environment
	sel     query.Selection
	opts    query.Options
	output  output.Options
	ranged  bool // a range was given
	count   bool
	explain bool
	follow  bool
	notes   []string
}

func readRequest(c *ucli.Context, env environment) (*request, error) {
	now := env.now()
	r := &request{env: env, count: c.Bool("count"), explain: c.Bool("explain"), follow: c.Bool("follow")}
	from, to, ranged, err := timeRange(c, now)
	if err != nil {
		return nil, err
	}
	if !ranged {
		from, to = now.Add(-time.Hour), now.Add(time.Hour)
	}
	r.ranged = ranged
	if r.sel, err = selection(c, from, to, now); err != nil {
		return nil, err
	}
	r.sel.Limit, r.sel.Newest = c.Int("limit"), c.Bool("newest")
	if c.IsSet("limit") && r.sel.Limit < 1 {
		return nil, cli.Usagef("--limit %d: it has to be at least 1", r.sel.Limit)
	}
	if r.opts, err = reading(c, env); err != nil {
		return nil, err
	}
	if r.follow {
		r.sel.To = followEnd(now)
	}
	if r.follow && (r.count || r.sel.Newest || c.IsSet("to")) {
		return nil, cli.Usagef("--follow can not be used together with --count, --newest or --to")
	}
	r.output = output.Options{
		Format: c.String("output"), Fields: output.ParseFields(c.String("fields")), Terminal: env.terminal, Location: location(c),
		Color: env.terminal && env.getenv("NO_COLOR") == "" && env.getenv("TERM") != "dumb", Dates: now.Sub(from) > 12*time.Hour || to.Sub(now) > 12*time.Hour,
	}
	if r.output.Format == "" {
		r.output.Format = output.Text
		if env.terminal {
			r.output.Format = output.Pretty
		}
	}
	return r, nil
}

func runQuery(c *ucli.Context, env environment) (err error) {
	r, err := readRequest(c, env)
	if err != nil {
		return err
	}
	out, err := output.New(env.stdout, r.output)
	if err != nil {
		return cli.Usagef("--output: %w", err)
	}
	defer func() {
		if closeErr := out.Close(); err == nil {
			err = closeErr
		}
	}()
	// The selection is checked before a store is opened, for its own message.
	if _, err := newQuery(nil, r.sel, r.opts); err != nil {
		return err
	}
	stores, closeStores, err := env.openStores(c.Context, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStores()) }()
	q, err := newQuery(stores, r.sel, r.opts)
	if err != nil {
		return err
	}
	r.noteIndex()
	if r.follow {
		return r.followNew(c.Context, stores, q, out)
	}
	n, err := r.answer(c.Context, q, out)
	if err == nil {
		err = out.Flush() // on a terminal what is told comes behind the records
	}
	if err != nil {
		return err
	}
	report := q.Report()
	if n == 0 && !r.ranged && len(report.Problems) == 0 {
		r.noteNewest(c.Context, q)
		report = q.Report()
	}
	r.tell(&report)
	if s := status(&report, n > 0); s != cli.OK {
		err = cli.Exit(s)
	}
	return err
}

// answer prints the matching records, or their number, and returns it.
func (r *request) answer(ctx context.Context, q *query.Query, out *output.Writer) (n uint64, err error) {
	p, err := q.Plan(ctx)
	if err != nil {
		return 0, err
	}
	if !r.count {
		err = q.Run(ctx, p, func(m query.Match) error {
			n++
			return out.Write(m)
		})
		return n, err
	}
	if n, err = q.Count(ctx, p); err != nil {
		return 0, err
	}
	if limit := uint64(r.sel.Limit); limit > 0 {
		n = min(n, limit)
	}
	_, err = fmt.Fprintln(r.env.stdout, n)
	return n, err
}

// noteNewest says where data is, after nothing was found in the last hour.
func (r *request) noteNewest(ctx context.Context, q *query.Query) {
	last, service, found, err := q.Newest(ctx)
	switch {
	case err != nil:
		r.notes = append(r.notes, "no range was given: the last hour was searched, nothing found")
	case !found:
		r.notes = append(r.notes, "no range was given: the last hour was searched; the store has no data of these services at all")
	default:
		r.notes = append(r.notes, fmt.Sprintf("no range was given: the last hour was searched, nothing found; the newest record is of %s (%s); give --since or --from",
			last.Format(time.RFC3339), service))
	}
}

// manyProblems is the number of problems that are named without being asked.
const manyProblems = 20

// tell writes the report to standard error: problems and notes always, the rest
// with --explain.
func (r *request) tell(report *query.Report) {
	notes := append(r.notes, report.Notes...)
	if r.explain && r.output.Format == output.JSON {
		problems := []string{}
		for _, p := range report.Problems {
			problems = append(problems, p.Error())
		}
		line, err := json.Marshal(struct {
			*query.Report
			Problems []string `json:"problems"`
			Notes    []string `json:"notes"`
		}{report, problems, append([]string{}, notes...)})
		if err == nil {
			fmt.Fprintf(r.env.stderr, "%s\n", line)
		}
		return
	}
	for i, p := range report.Problems {
		if i == manyProblems && !r.explain {
			r.env.say("and %d more that could not be read; --explain names all", len(report.Problems)-i)
			break
		}
		r.env.say("%v", p)
	}
	for _, n := range notes {
		r.env.say("%s", n)
	}
	if r.explain {
		fmt.Fprint(r.env.stderr, report)
	}
}
