package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	ucli "github.com/urfave/cli/v2"

	"logstow/blobnaming"
	"logstow/columns"
	"logstow/compaction"
	"logstow/config"
	"logstow/internal/cli"
	"logstow/internal/jsonlines"
	"logstow/internal/price"
	"logstow/internal/units"
	"logstow/metrics"
	"logstow/store"
	"logstow/store/open"
)

const categoryCompaction = "Compaction"

// defaultClass is how --class names the default class.
const defaultClass = "-"

func compactCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "compact",
		Usage: "merge small segments into large ones",
		UsageText: `shipper compact --store azblob://logs
shipper compact --store azblob://logs --since 2d --dry-run
shipper compact --store /var/lib/logs --service 'web-*' --grace 0s -o json`,
		Description: `Merges segments (inputs) of one service, UTC day and class into larger ones
(outputs) of up to --target, and then removes the inputs, so that a query reads few
large segments instead of many small ones. Queries print the same before, during and
after.

Outputs are in a container of their own, such as logs-compacted for logs, or in the
directory _compacted of a store. Segments of ended hours are merged once there are 240
of them or 8 MiB, and all that are left when their UTC day has ended. Later ones of
such a day are merged when there are eight of them, or one is a day old.

Every output is checked before it is created, and read back from storage before its
inputs are removed. Damaged segments are reported and left unchanged, and so are
segments that were moved to colder tiers and inputs under a hold or policy: the status
is 0. docs/compaction.md describes the protocol.

It may be interrupted and repeated, and may run in parallel with itself and with
shippers.

Exit status: 0 all eligible segments are merged, 2 wrong command line, 3 something
failed, an output is damaged, or --max-cost is reached, 4 access denied, 130
interrupted.`,
		Flags: slices.Concat(cli.Categorize(categoryStore, storesFlag(), authFlag()),
			cli.Categorize(categoryRange,
				&cli.ListFlag{Name: "service", Aliases: []string{"s"}, Usage: "`GLOB`: service name or glob; repeatable (default: all)"},
				&cli.ListFlag{Name: "class", Usage: "`CLASS`: retention class, - for segments without one; repeatable (default: all)"},
				&ucli.StringFlag{Name: "since", Usage: "`TIME`: first UTC day, as a duration before now or a time: 2d, yesterday; not with --from"},
				&ucli.StringFlag{Name: "from", Usage: "`TIME`: first UTC day: 2026-11-20, yesterday, -2d"},
				&ucli.StringFlag{Name: "to", Usage: "`TIME`: end of the range; later hours are skipped"},
				&ucli.StringFlag{Name: "after", Value: "1h", Usage: "`DURATION`: skip hours that ended less than this ago, also inside the range"},
				&ucli.StringFlag{Name: "max-age", Value: "7d", Usage: "`DURATION`: skip days that ended longer ago, also inside the range"},
			), cli.Categorize(categoryCompaction,
				&ucli.StringFlag{Name: "target", Value: "64MiB", Usage: "`SIZE`: maximum stored size of an output of several segments, 1MiB to 64MiB"},
				&ucli.StringFlag{Name: "grace", Value: "2h", Usage: "`DURATION`: remove inputs only when they and their output were stored longer ago than this; others stay until a later run"},
				&ucli.StringFlag{Name: "columns", Value: "auto", Usage: "`LIST`: write columns of these fields and of frequent ones; auto writes those of frequent ones, off none"},
				&ucli.BoolFlag{Name: "keep-inputs", Usage: "create outputs, but do not remove inputs"},
				&ucli.StringFlag{Name: "temp-dir", Usage: "`DIR`: directory of temporary files (default: the system's)"},
				&ucli.StringFlag{Name: "reject", Usage: "`NAME`: only make readers and compaction ignore the output with this blob name; requires an intact copy of each input"},
			), cli.Categorize(categoryLimits,
				&ucli.BoolFlag{Name: "dry-run", Usage: "print what would be merged and removed, and change nothing; not with --reject"},
				&ucli.StringFlag{Name: "rate", Value: "1000", Usage: "`N`: maximum number of blobs deleted per second; 0 for no limit"},
				&ucli.StringFlag{Name: "max-cost", Usage: "`DOLLARS`: stop compacting a store, with status 3, before the next output once its requests have cost this much (default: no limit)"},
			), cli.Categorize(categoryMetrics,
				&ucli.StringFlag{Name: "metrics-file", Usage: "`FILE`: write the metrics of the run to this file, for the textfile collector of node_exporter"},
			), []ucli.Flag{outputFlag("one object per store")}),
		Action: func(c *ucli.Context) error {
			o, err := compactSettings(c)
			if err != nil {
				return cli.Usagef("%w", err)
			}
			asJSON, err := asJSON(c)
			if err != nil {
				return err
			}
			var reports []compaction.Report
			err = eachStore(c, open.Options{}, func(spec string, s store.Store) error {
				if name := c.String("reject"); name != "" {
					return compaction.Reject(c.Context, s, name)
				}
				o := o
				if _, local := open.Dir(spec); local {
					o.Prices = new(price.Table) // it costs nothing
				}
				report, err := compact(c, s, o, asJSON)
				reports = append(reports, report)
				return err
			})
			if file := c.String("metrics-file"); file != "" && len(reports) > 0 {
				err = errors.Join(err, metrics.WriteCompaction(file, reports))
			}
			return err
		},
	}
}

// compactSettings reads the command line.
func compactSettings(c *ucli.Context) (compaction.Options, error) {
	o := compaction.DefaultOptions()
	var wrong problems
	fail := func(flag string, err error) {
		if err != nil {
			wrong = append(wrong, fmt.Errorf("--%s: %w", flag, err))
		}
	}
	for flag, d := range map[string]*time.Duration{"after": &o.After, "grace": &o.Grace, "max-age": &o.MaxAge} {
		var err error
		*d, err = units.ParseZero(c.String(flag))
		fail(flag, err)
	}
	o.From, o.To = parseRange(&wrong, c, time.Now().UTC())
	wrong.checkRange(o.From, o.To)
	o.Services = cli.List(c, "service")
	for _, pattern := range o.Services {
		if !doublestar.ValidatePattern(pattern) {
			wrong = append(wrong, fmt.Errorf("--service %q: %w", pattern, doublestar.ErrBadPattern))
		}
	}
	o.Classes = classes(cli.List(c, "class"))
	for _, class := range o.Classes {
		if !blobnaming.ValidClass(class) {
			wrong = append(wrong, fmt.Errorf("--class %q: not at most %d of a-z and 0-9", class, blobnaming.MaxClass))
		}
	}
	var err error
	o.Limits.Target, err = units.ParseSize(c.String("target"))
	fail("target", err)
	if most := compaction.DefaultLimits().Target; err == nil && (o.Limits.Target < 1<<20 || o.Limits.Target > most) {
		wrong = append(wrong, fmt.Errorf("--target %s: want 1MiB to 64MiB", c.String("target")))
	}
	if o.Rate, err = strconv.ParseFloat(c.String("rate"), 64); err != nil || !(o.Rate >= 0) {
		wrong = append(wrong, fmt.Errorf("--rate %q: want a number of blobs per second", c.String("rate")))
	}
	if text := c.String("max-cost"); text != "" {
		if o.MaxCost, err = strconv.ParseFloat(text, 64); err != nil || !(o.MaxCost > 0) {
			wrong = append(wrong, fmt.Errorf("--max-cost %q: want more than 0 dollars", text))
		}
	}
	named, err := config.ParseColumns(c.String("columns"))
	fail("columns", err)
	if o.Columns = (&columns.Options{Named: named}); c.String("columns") == config.ColumnsOff {
		o.Columns = nil
	}
	if c.IsSet("reject") && len(cli.List(c, "store")) > 1 {
		wrong = append(wrong, errors.New("--reject requires exactly one --store"))
	}
	if c.IsSet("reject") && c.Bool("dry-run") {
		wrong = append(wrong, errors.New("--reject cannot be used together with --dry-run"))
	}
	if c.NArg() > 0 {
		wrong = append(wrong, errors.New("compact takes no arguments"))
	}
	o.DryRun, o.KeepInputs, o.TempDir = c.Bool("dry-run"), c.Bool("keep-inputs"), c.String("temp-dir")
	return o, errors.Join(wrong...)
}

// compact compacts one store and prints the report.
func compact(c *ucli.Context, s store.Store, o compaction.Options, asJSON bool) (compaction.Report, error) {
	o.Progress = new(compaction.Progress)
	p := o.Progress
	line := newProgress(c)
	stop := line.Start(func() string {
		return progressText(p.Done.Load(), p.Services.Load(), fmt.Sprintf("services, %s merged, %d removed", units.Count(p.Merged.Load(), "segment"), p.Removed.Load()))
	})
	report, err := compaction.Run(reporting(c, line), s, o)
	stop()
	if err != nil && report.Services == 0 && !asJSON {
		return report, err // before anything was looked at
	}
	if asJSON {
		err = jsonlines.Write(c.App.Writer, &report)
	} else {
		err = printCompaction(c.App.Writer, &report)
	}
	return report, errors.Join(err, report.Err())
}

// whyNothing is the reason why there was nothing to look at, "" if there was.
func whyNothing(r *compaction.Report) string {
	switch {
	case r.Chains > 0 || !r.Complete:
		return ""
	case r.Services == 0:
		return "no service of the store is selected: logq services lists them"
	case !r.From.Before(r.To):
		return "no day is selected: --after skips the latest hours, --max-age the oldest days, and --since, --from and --to limit the range"
	}
	return fmt.Sprintf("no day from %s to %s has segments that could be merged or removed; --after skips later hours, --max-age earlier days",
		r.From.UTC().Format("2006-01-02T15:04Z"), r.To.UTC().Format("2006-01-02T15:04Z"))
}

// printCompaction prints a report for people.
func printCompaction(to io.Writer, r *compaction.Report) error {
	verb, removed := "merged", "removed"
	if r.DryRun {
		verb, removed = "would merge", "would remove"
	}
	if !r.Complete {
		verb = "ended early: " + verb
	}
	q := r.Requests
	size := ""
	if !r.DryRun {
		size = fmt.Sprintf(" (%s)", units.FormatSize(r.BytesOut))
	}
	_, err := fmt.Fprintf(to, "%s: %s %s (%s) into %s%s, %s %d (%s); %s; %s (%d list, %d read, %d create, %d delete, %d table), which cost %s\n",
		r.Store, verb, units.Count(r.Inputs, "segment"), units.FormatSize(r.BytesIn), units.Count(r.Outputs, "output"), size, removed, r.Removed, units.FormatSize(r.BytesRemoved),
		units.Count(r.Chains, "service day"), units.Count(q.Total(), "request"), q.List, q.Get, q.Create, q.Delete, q.Table, units.Dollars(r.CostUSD))
	if r.DryRun && r.SoftDeleteUSD > 0 {
		fmt.Fprintf(to, "note: with soft delete, removed segments cost %s for each day that they are kept\n", units.Dollars(r.SoftDeleteUSD))
	}
	if why := whyNothing(r); why != "" {
		fmt.Fprintf(to, "note: %s\n", why)
	}
	for _, note := range []struct {
		n            int64
		format, noun string
	}{
		{r.Young, "kept %s, too young to be removed", "input"},
		{r.OtherTier, "did not merge %s because of the tier: reading costs more", "segment"},
		{r.Held, "kept %s because of a policy, a legal hold or a lease; readers ignore them", "input"},
		{r.Conflicts, "discarded %s: another compaction had merged an input", "output"},
		{r.Left, "left %s to retention", "day"},
	} {
		if note.n > 0 {
			fmt.Fprintf(to, "note: "+note.format+"\n", units.Count(note.n, note.noun))
		}
	}
	if len(r.Damaged) > 0 {
		fmt.Fprintf(to, "note: did not merge %s because of damage: %s\n", units.Count(len(r.Damaged), "segment"), strings.Join(r.Damaged, " "))
	}
	if len(r.Different) > 0 {
		fmt.Fprintf(to, "note: these segments have the batch of an input but differ from it, and stay: %s\n", strings.Join(r.Different, " "))
	}
	return err
}
