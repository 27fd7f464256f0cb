package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/blobnaming"
	"logstow/columns"
	"logstow/compaction"
	"logstow/config"
	"logstow/internal/cli"
	"logstow/internal/units"
	"logstow/metrics"
	"logstow/store"
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
		Flags: slices.Concat(cli.Under(categoryStore, storesFlag(), authFlag()),
			cli.Under(categoryRange,
				servicesFlag(),
				cli.Repeated("class", "`CLASS`: retention class, - for segments without one; repeatable (default: all)"),
				cli.Text("since", "`TIME`: first UTC day, as a duration before now or a time: 2d, yesterday; not with --from"),
				cli.Text("from", "`TIME`: first UTC day: 2026-11-20, yesterday, -2d"),
				cli.Text("to", "`TIME`: end of the range; later hours are skipped"),
				cli.Text("after=1h", "`DURATION`: skip hours that ended less than this ago, also inside the range"),
				cli.Text("max-age=7d", "`DURATION`: skip days that ended longer ago, also inside the range"),
			), cli.Under(categoryCompaction,
				cli.Text("target=64MiB", "`SIZE`: maximum stored size of an output of several segments, 1MiB to 64MiB"),
				cli.Text("grace=2h",
					"`DURATION`: remove inputs only when they and their output were stored longer ago than this; others stay until a later run"),
				cli.Text("columns=auto",
					"`LIST`: write columns of these fields and of frequent ones; auto writes those of frequent ones, off none"),
				cli.Switch("keep-inputs", "create outputs, but do not remove inputs"),
				tempDirFlag(),
				cli.Text("reject",
					"`NAME`: only make readers and compaction ignore the output with this blob name; requires an intact copy of each input"),
			), cli.Under(categoryLimits,
				cli.Switch("dry-run", "print what would be merged and removed, and change nothing; not with --reject"),
				rateFlag("deleted"),
				cli.Text("max-cost",
					"`DOLLARS`: stop compacting a store, with status 3, before the next output once its requests have cost this much (default: no limit)"),
			), metricsFileFlag(), outputFlag("one object per store")),
		Action: (&maintenance[compaction.Options, compaction.Report]{
			settings:     compactSettings,
			job:          compact,
			writeMetrics: metrics.WriteCompaction,
		}).run,
	}
}

// compactSettings reads the command line.
func compactSettings(c *ucli.Context) (compaction.Options, error) {
	o := compaction.DefaultOptions()
	var errs problems
	o.After, o.MaxAge = parse(&errs, c, "after", units.ParseZero), parse(&errs, c, "max-age", units.ParseZero)
	o.Grace = parse(&errs, c, "grace", units.ParseZero)
	o.From, o.To = parseRange(&errs, c, time.Now().UTC())
	errs.checkRange(o.From, o.To)
	o.Services = parseServices(&errs, c)
	o.Classes = classes(cli.List(c, "class"))
	for _, class := range o.Classes {
		errs.check(blobnaming.ValidClass(class), "--class %q: not at most %d of a-z and 0-9", class, blobnaming.MaxClass)
	}
	o.Limits.Target = parse(&errs, c, "target", config.SizeFrom(1<<20, compaction.DefaultLimits().Target, "1MiB to 64MiB"))
	o.Rate = parseRate(&errs, c)
	if text := c.String("max-cost"); text != "" {
		var err error
		o.MaxCost, err = strconv.ParseFloat(text, 64)
		errs.check(err == nil && o.MaxCost > 0, "--max-cost %q: want more than 0 dollars", text)
	}
	o.Columns = &columns.Options{Named: parse(&errs, c, "columns", config.ParseColumns)}
	if c.String("columns") == config.ColumnsOff {
		o.Columns = nil
	}
	errs.check(!c.IsSet("reject") || len(cli.List(c, "store")) <= 1, "--reject requires exactly one --store")
	errs.check(!c.IsSet("reject") || !c.Bool("dry-run"), "--reject cannot be used together with --dry-run")
	errs.noArguments(c)
	o.DryRun, o.KeepInputs, o.TempDir = c.Bool("dry-run"), c.Bool("keep-inputs"), c.String("temp-dir")
	return o, errors.Join(errs...)
}

// compact compacts one store and prints the report.
func compact(c *ucli.Context, spec string, s store.Store, o compaction.Options, asJSON bool) (report *compaction.Report, err error) {
	if name := c.String("reject"); name != "" {
		return nil, compaction.Reject(c.Context, s, name)
	}
	o.Prices, o.Progress = pricesOf(spec), new(compaction.Progress)
	p := o.Progress
	draw := func() string {
		return progressText(p.Done.Load(), p.Services.Load(),
			fmt.Sprintf("services, %s merged, %d removed", units.Count(p.Merged.Load(), "segment"), p.Removed.Load()))
	}
	err = runReported(c, asJSON, draw, func(ctx context.Context) (*compaction.Report, bool, error) {
		r, err := compaction.Run(ctx, s, o)
		report = &r
		return report, r.Services > 0, err
	}, printCompaction)
	return report, err
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
		fmt.Fprintf(to, "note: with soft delete, removed segments cost %s for each day that they are kept\n",
			units.Dollars(r.SoftDeleteUSD))
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
		fmt.Fprintf(to, "note: did not merge %s because of damage: %s\n", units.Count(len(r.Damaged), "segment"),
			strings.Join(r.Damaged, " "))
	}
	if len(r.Different) > 0 {
		fmt.Fprintf(to, "note: these segments have the batch of an input but differ from it, and stay: %s\n",
			strings.Join(r.Different, " "))
	}
	return err
}
