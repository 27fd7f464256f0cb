package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/query"
	"logstow/query/output"
)

// The formats of stats.
const (
	tableFormat = "table"
	jsonFormat  = "json"
	csvFormat   = "csv"
)

const (
	// tableRows is how many groups a table shows where they are not times.
	tableRows = 30
	// maxGaps is how many rows of nothing are shown between times.
	maxGaps = 10_000
	// barWidth is the length of the longest bar in a table.
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
		Description: `Counts the records that query would print. --by is level, minute, hour, day,
service, source, instance or the name of a field of the message (user.id);
with several names, records are counted by all of them together.

Counts by level, time, service and instance without a pattern come from metadata
and footers: no log line is read. With more groups than fit into memory, small
ones are dropped, and how much the others may be too low is reported.

Exit status: 0 found, 1 nothing matched, 2 wrong command line, 3 incomplete or
failed, 4 access denied, 130 interrupted.`,
		Flags: slices.Concat(selectionFlags(), cli.Categorize(categoryOutput,
			&cli.ListFlag{Name: "by", Commas: true, Usage: "`NAME`: property to count by; a list, repeatable (default: level)"},
			&ucli.IntFlag{Name: "limit", Aliases: []string{"n"}, Usage: "`N`: print only the largest groups", DefaultText: "30 in a table that is not by time, else all"},
			&ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: tableFormat, Usage: "`FORMAT`: table, json (one object a line) or csv"},
			&ucli.BoolFlag{Name: "explain", Usage: "report on standard error what was planned, read and paid"},
		), limitFlags()),
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
	by := cli.List(c, "by")
	if len(by) == 0 {
		by = []string{"level"}
	}
	if _, err := newQuery(nil, r.sel, r.opts); err != nil {
		return err
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
	stats, p, err := r.stats(ctx, q, by)
	report := q.Report()
	if errors.Is(err, query.ErrBudget) {
		r.tell(&report)
	}
	if err != nil {
		return r.overBudget(err)
	}
	if stats.Total == 0 {
		if err = r.explainNone(ctx, q, p); err != nil {
			return err
		}
		report = q.Report()
	}
	if err := env.paged(ctx, func(env *environment) error { return printStats(env, stats, format, limit) }); err != nil {
		return err
	}
	r.tell(&report)
	if s := status(&report, stats.Total > 0, stores); s != cli.OK {
		return cli.Exit(s)
	}
	return nil
}

// stats plans and counts, and returns the plan too.
func (r *request) stats(ctx context.Context, q *query.Query, by []string) (*query.Stats, *query.Plan, error) {
	r.progress.watch(&r.env, q)
	defer r.progress.end()
	p, err := q.Plan(ctx)
	if err != nil {
		return nil, nil, err
	}
	r.noteFuture(p)
	r.progress.aside(&r.env, func() { r.before(q, p) })
	r.progress.planned(q, p)
	stats, err := q.Stats(ctx, p, by, r.zone)
	if errors.Is(err, query.ErrSelection) {
		return nil, nil, cli.Usagef("--by: %w", err)
	}
	if err == nil && stats.Dropped {
		r.notes = append(r.notes, fmt.Sprintf("approximate: there are more groups than fit into memory; small ones are missing, and a count may be up to %d too low", stats.Error))
	}
	return stats, p, err
}

// printStats prints the groups, times with the gaps between them.
func printStats(env *environment, s *query.Stats, format string, limit int) error {
	rows := s.Rows
	timed := slices.Contains([]string{"minute", "hour", "day"}, s.By[0])
	if timed && len(s.By) == 1 {
		rows = withGaps(rows, s.By[0])
	}
	if limit == 0 && format == tableFormat && !timed {
		limit = tableRows
	}
	more := 0
	if limit > 0 && len(rows) > limit {
		if timed {
			rows = slices.Clone(rows)
			slices.SortStableFunc(rows, func(a, b query.Row) int { return int(min(max(int64(b.Count)-int64(a.Count), -1), 1)) })
		}
		more = len(rows) - limit
		rows = rows[:limit]
	}
	switch format {
	case jsonFormat:
		return printStatsJSON(env, s.By, rows)
	case csvFormat:
		w := csv.NewWriter(env.stdout)
		_ = w.Write(append(slices.Clone(s.By), "count")) // Error tells
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
		env.say("%d more groups; -n shows more", more)
	}
	return nil
}

// withGaps puts rows of nothing where no record is between two times.
func withGaps(rows []query.Row, step string) []query.Row {
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
		for at = after(at, step); at.Before(following) && len(out) <= maxGaps; at = after(at, step) {
			out = append(out, query.Row{Key: []string{at.In(following.Location()).Format(time.RFC3339)}})
		}
	}
	return out
}

// after is the start of the next period.
func after(t time.Time, step string) time.Time {
	switch step {
	case "minute":
		return t.Add(time.Minute)
	case "hour":
		return t.Add(time.Hour)
	}
	return t.AddDate(0, 0, 1)
}
