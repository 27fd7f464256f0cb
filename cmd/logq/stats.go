package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/field"
	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/units"
	"logstow/query"
	"logstow/query/output"
)

// The output formats of stats.
const (
	tableFormat = "table"
	jsonFormat  = "json"
	csvFormat   = "csv"
)

const (
	// tableRows is the default number of groups in a table, time steps excepted.
	tableRows = 30
	// maxGaps limits the empty rows between time steps.
	maxGaps = 10_000
	// barWidth is the length of the longest bar in characters.
	barWidth = 40
)

func statsCommand(env environment) *ucli.Command {
	return &ucli.Command{
		Name:  "stats",
		Usage: "count records by level, time, service, source or fields",
		UsageText: `logq stats -s shop --since 1d --by hour
logq stats --since 2h --by service --by level
logq stats --since 1d --where 'status >= 500' --by path -n 10 -o csv`,
		ArgsUsage: "[PATTERN...]",
		Description: `Counts the records that query would print. --by is a time step (minute, hour, day,
5m, 1w), level, service, source, instance or the name of a field of the message
(user.id); with several names, records are counted by all of them together.

Counts by level, time, service and instance without a pattern come from metadata
and footers: no log line is read. Counts are exact: if there are more groups than
--memory is enough for, none is printed, and the status is 3.

Exit status: 0 found, 1 nothing matched, 2 wrong command line, 3 incomplete or
failed, 4 access denied, 130 interrupted.`,
		Flags: slices.Concat(fileFlag(), selectionFlags(), cli.Categorize(categoryOutput,
			&cli.ListFlag{Name: "by", Commas: true, Usage: "`NAME`: property to count by; a list, repeatable (default: level)"},
			&ucli.IntFlag{Name: "limit", Aliases: []string{"n"}, Usage: "`N`: print only the largest groups", DefaultText: "30 in a table that is not by time, else all"},
			&ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: tableFormat, Usage: "`FORMAT`: table, json (one object a line) or csv"},
			&ucli.BoolFlag{Name: "explain", Usage: "report the plan, bytes read and estimated cost on standard error"},
		), limitFlags(), cli.Categorize(categoryLimits,
			&ucli.StringFlag{Name: "memory", Value: "256MiB", Usage: "`SIZE`: memory for groups; with more groups nothing is printed, status 3"},
		)),
		Action: quietPipe(func(c *ucli.Context) error { return runStats(c.Context, c, env) }),
	}
}

func runStats(ctx context.Context, c *ucli.Context, env environment) (err error) {
	now := env.now()
	r := &request{env: env, zone: location(c), explain: c.Bool("explain")}
	if err := r.readSelection(c, now); err != nil {
		return err
	}
	format, limit := c.String("output"), c.Int("limit")
	if err := cli.OneOf("output", format, statsFormats()...); err != nil {
		return err
	}
	if c.IsSet("limit") && limit < 1 {
		return cli.Usagef("--limit %d: want at least 1", limit)
	}
	if r.opts.GroupMemory, err = groupMemory(c); err != nil {
		return err
	}
	debug.SetMemoryLimit(memoryLimit + r.opts.GroupMemory)
	by, err := listNames(c, "by")
	if err != nil {
		return err
	}
	if len(by) == 0 {
		by = []field.Name{{Text: "level", Fixed: field.Level}}
	}
	checked, err := newQuery(nil, r.sel, r.opts)
	if err != nil {
		return err
	}
	stores, closeStores, err := env.openStores(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStores()) }()
	r.coverIndex(stores)
	q, err := checked.Over(stores, r.opts)
	if err != nil {
		return err
	}
	r.warnIndex()
	r.printRange()
	stats, p, err := r.stats(ctx, q, by)
	report := q.Report()
	if errors.Is(err, query.ErrBudget) {
		r.printReport(&report)
	}
	if err != nil {
		return overMemory(r.overBudget(err), c.String("memory"))
	}
	if stats.Total == 0 {
		if err = r.explainNone(ctx, q, p); err != nil {
			return err
		}
		report = q.Report()
	} else {
		r.noteMissing(q, emptyFields(stats))
	}
	if err := env.paged(ctx, func(env *environment) error { return printStats(env, stats, by, format, limit, r.zone) }); err != nil {
		return err
	}
	r.printReport(&report)
	if s := status(&report, stats.Total > 0, stores); s != cli.OK {
		return cli.Exit(s)
	}
	return nil
}

// stats plans and counts; it returns the plan too.
func (r *request) stats(ctx context.Context, q *query.Query, by []field.Name) (*query.Stats, *query.Plan, error) {
	r.progress.watch(&r.env, q)
	defer r.progress.end()
	p, err := q.Plan(ctx)
	if err != nil {
		return nil, nil, err
	}
	r.warnFuture(p)
	r.printPlan(q, p)
	r.progress.planned(q, p)
	stats, err := q.Stats(ctx, p, by, r.zone)
	return stats, p, err
}

// groupMemory reads --memory.
func groupMemory(c *ucli.Context) (int64, error) {
	n, err := units.ParseSize(c.String("memory"))
	if err != nil || n < 1 {
		return 0, cli.Usagef("--memory %q: want a size of at least one byte, for example 500MB or 2GiB", c.String("memory"))
	}
	return n, nil
}

// overMemory explains the error of too many groups.
func overMemory(err error, limit string) error {
	if !errors.Is(err, query.ErrMemory) {
		return err
	}
	return hint.Wrap(fmt.Errorf("cannot count within --memory %s: %w", limit, err), "give it more --memory, or make fewer groups: a narrower range, --where, or fewer --by")
}

// printStats prints the groups, time steps with the empty ones between them.
func printStats(env *environment, s *query.Stats, by []field.Name, format string, limit int, zone *time.Location) error {
	rows := s.Rows
	timed := slices.ContainsFunc(by, func(name field.Name) bool { return name.Step != (field.Step{}) })
	if limit == 0 && format == tableFormat && !timed {
		limit = tableRows
	}
	more := 0
	if limit > 0 && len(rows) > limit {
		more = len(rows) - limit
		rows = largest(rows, limit)
	} else if timed && len(by) == 1 { // between the largest only, nothing would not be nothing
		rows = withGaps(rows, by[0].Step, zone)
	}
	switch format {
	case jsonFormat:
		return printStatsJSON(env, s.By, rows)
	case csvFormat:
		w := csv.NewWriter(env.stdout)
		_ = w.Write(append(slices.Clone(s.By), "count")) // Error returns it
		for _, row := range rows {
			_ = w.Write(append(slices.Clone(row.Key), strconv.FormatUint(row.Count, 10)))
		}
		w.Flush()
		return w.Error()
	}
	return printStatsTable(env, s, rows, more)
}

func printStatsJSON(env *environment, by []string, rows []query.Row) error {
	var line strings.Builder
	for _, row := range rows {
		line.Reset()
		line.WriteByte('{')
		for i, name := range by {
			key, err := json.Marshal(name)
			if err != nil {
				return err
			}
			value, err := json.Marshal(row.Key[i])
			if err != nil {
				return err
			}
			fmt.Fprintf(&line, "%s:%s,", key, value)
		}
		fmt.Fprintf(&line, "\"count\":%d}\n", row.Count)
		if _, err := env.stdout.Write([]byte(line.String())); err != nil {
			return err
		}
	}
	return nil
}

func printStatsTable(env *environment, s *query.Stats, rows []query.Row, more int) error {
	if s.Total == 0 {
		return nil
	}
	largest := uint64(1)
	for _, row := range rows {
		largest = max(largest, row.Count)
	}
	w := tabwriter.NewWriter(env.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "%s\tCOUNT\tSHARE\n", strings.ToUpper(strings.Join(s.By, "\t")))
	for _, row := range rows {
		for _, value := range row.Key {
			fmt.Fprintf(w, "%s\t", output.Visible(value))
		}
		fmt.Fprintf(w, "%d\t%5.1f%%", row.Count, 100*float64(row.Count)/float64(s.Total))
		if env.out.terminal() && row.Count > 0 {
			fmt.Fprintf(w, "\t%s", strings.Repeat("█", max(1, int(barWidth*row.Count/largest))))
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if more > 0 {
		env.printf("%d more groups; -n shows more", more)
	}
	return nil
}

// largest are the n rows with the largest counts, in their order; of equal ones the first.
func largest(rows []query.Row, n int) []query.Row {
	places := make([]int, len(rows))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(i, j int) int { return cmp.Compare(rows[j].Count, rows[i].Count) })
	places = places[:n]
	slices.Sort(places)
	out := make([]query.Row, n)
	for i, place := range places {
		out[i] = rows[place]
	}
	return out
}

// withGaps adds rows for the empty steps between two times.
func withGaps(rows []query.Row, step field.Step, zone *time.Location) []query.Row {
	var out []query.Row
	for i, row := range rows {
		at, err := time.Parse(time.RFC3339, row.Key[0])
		if err != nil || len(out) > maxGaps {
			return rows
		}
		out = append(out, row)
		if i+1 == len(rows) {
			break
		}
		following, err := time.Parse(time.RFC3339, rows[i+1].Key[0])
		if err != nil {
			return rows
		}
		for at = step.Next(at.In(zone)); at.Before(following) && len(out) <= maxGaps; at = step.Next(at) {
			out = append(out, query.Row{Key: []string{at.Format(step.Layout())}})
		}
	}
	return out
}
