package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/units"
	"logstow/retention"
	"logstow/store"
	"logstow/store/open"
)

func retainCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "retain",
		Usage: "delete logs past their retention",
		UsageText: `shipper retain --store azblob://logs --keep 30d --dry-run
shipper retain --store azblob://logs --keep 30d --class audit=365d
shipper retain --store /var/lib/logs --max-store-size 10GiB`,
		Description: `Deletes the segments of past days, and their index, one day at a time. The day is
that of the records, in UTC, not that of the upload. Segments without a retention
class are deleted when their day ended longer ago than --keep, segments of a class
when it ended longer ago than their --class. At least one flag of the retention is
required.

Segments of a class that is not named are kept and reported, so that a job that
misses a class deletes too little, never too much. Segments that a policy of the
storage account protects are reported and stay in the index. At the end these days
are listed again, to check that nothing remains.

It may be interrupted and repeated, and may run in parallel with itself and with
shippers.

Exit status: 0 everything expired is deleted, 2 wrong command line, 3 something
expired remains or something failed, 4 access denied, 130 interrupted.`,
		Flags: slices.Concat(cli.Under(categoryStore, storesFlag(), authFlag()), cli.Under(categoryRetention,
			cli.Text("keep", "`DURATION`: retention of segments without a class, such as 30d or 12w (default: keep them)"),
			cli.Repeated("class",
				"`CLASS=DURATION`: retention of the segments of a class, such as audit=365d; repeatable (default: keep them)"),
			cli.Text("max-store-size",
				"`SIZE`: maximum size of a store in a directory, such as 10GiB: deletes the oldest days, expired or not, of segments without a class and of every --class (default: no limit)"),
			cli.Text("cool-after",
				"`DURATION`: move segments of all classes to the cool tier this long after the end of their UTC day; at least 1d (default: never)"),
			cli.Text("cold-after", "`DURATION`: the same for the cold tier; longer than --cool-after (default: never)"),
		), cli.Under(categoryLimits,
			cli.Switch("dry-run", "print what would be deleted and moved, and the cost, and change nothing"),
			cli.Switch("force", "allow a retention of less than a day, and a clock that differs from that of storage"),
			rateFlag("deleted or moved"),
		), outputFlag("one object per store")),
		Action: (&maintenance[retaining, retention.Report]{settings: retainSettings, job: retain}).run,
	}
}

// retaining is what to do in each store.
type retaining struct {
	policy retention.Policy
	retention.Options
}

// retainSettings reads the command line.
func retainSettings(c *ucli.Context) (o retaining, err error) {
	p := &o.policy
	p.Keep = make(map[string]time.Duration)
	var errs problems
	keep := func(flag, class, text string) {
		d, err := units.ParseDuration(text)
		errs.check(err == nil, "--%s: %w", flag, err)
		p.Keep[class] = d
	}
	if c.IsSet("keep") {
		keep("keep", "", c.String("keep"))
	}
	p.CoolAfter = parseGiven(&errs, c, "cool-after", units.ParseDuration)
	p.ColdAfter = parseGiven(&errs, c, "cold-after", units.ParseDuration)
	for _, text := range cli.List(c, "class") {
		class, duration, ok := strings.Cut(text, "=")
		_, twice := p.Keep[class]
		errs.check(ok && class != "", "--class %q: want CLASS=DURATION, for example audit=365d", text)
		errs.check(!twice || class == "", "--class %s is given twice", class)
		if ok && class != "" && !twice {
			keep("class", class, duration)
		}
	}
	if c.IsSet("max-store-size") {
		p.MaxBytes, err = units.ParseSize(c.String("max-store-size"))
		errs.check(err == nil && p.MaxBytes > 0, "--max-store-size %q: want a size of more than 0, such as 10GiB",
			c.String("max-store-size"))
		if _, given := p.Keep[""]; !given {
			p.Keep[""] = retention.Forever
		}
	}
	for _, spec := range cli.List(c, "store") {
		_, local := open.Dir(spec)
		errs.check(!local || p.CoolAfter == 0 && p.ColdAfter == 0, "--cool-after and --cold-after require an Azure store, a directory has no tiers: %s",
			spec)
		errs.check(local || !c.IsSet("max-store-size"), "--max-store-size requires a store in a directory, not %s", open.Shown(spec))
	}
	o.Rate = parseRate(&errs, c)
	o.DryRun, o.Force = c.Bool("dry-run"), c.Bool("force")
	errs.noArguments(c)
	switch {
	case len(errs) > 0:
	case len(p.Keep) == 0 && p.CoolAfter == 0 && p.ColdAfter == 0:
		errs.advise(false, "no retention is given", "give --keep 30d, --class CLASS=DURATION, --max-store-size or --cool-after")
	default:
		errs = append(errs, p.Check(o.Force))
	}
	return o, errors.Join(errs...)
}

// retain runs the policy on one store.
func retain(c *ucli.Context, spec string, s store.Store, o retaining, asJSON bool) (report *retention.Report, err error) {
	o.Prices, o.Progress = pricesOf(spec), new(retention.Progress)
	draw := func() string { return progressText(howFar(o.Progress, o.DryRun)) }
	looked := false
	err = runReported(c, asJSON, draw, func(ctx context.Context) (*retention.Report, bool, error) {
		r, err := retention.Run(ctx, s, o.policy, o.Options)
		report, looked = &r, r.Services > 0
		return report, looked, err
	}, printRetention)
	if c.Err() != nil && looked { // then no other message has the reason
		for _, problem := range report.Problems {
			fmt.Fprintf(c.App.ErrWriter, "%s: %s: %s\n", c.App.Name, report.Store, problem)
		}
	}
	return report, err
}

// howFar is the progress to draw: services while they are listed, then blobs while they are deleted.
func howFar(p *retention.Progress, dryRun bool) (done, all int64, what string) {
	walked, services, found, deleted := p.Walked.Load(), p.Services.Load(), p.Found.Load(), p.Deleted.Load()
	if dryRun || walked < services {
		return walked, services, fmt.Sprintf("services listed, %s found, %d deleted", units.Count(found, "blob"), deleted)
	}
	return deleted, found, "blobs deleted"
}

// printRetention prints a report as a table.
func printRetention(to io.Writer, r *retention.Report) error {
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	if len(r.Days) > 0 {
		fmt.Fprintln(w, "DAY\tCLASS\tBLOBS\tBYTES\tINDEX\tWHY")
	}
	for _, d := range r.Days {
		why := d.Why
		if d.Stayed > 0 {
			why += fmt.Sprintf("; %d stayed", d.Stayed)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\n", d.Day, orDash(d.Class), d.Blobs, d.Bytes, orDash(d.Table), why)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	verb := "deleted"
	if r.DryRun {
		verb = "would delete"
	}
	if !r.Complete {
		verb = "ended early: " + verb + " at least"
	}
	_, err := fmt.Fprintf(to, "%s: %s %s, %s, of %s; %d listed; %s (%d list, %d delete, %d tier, %d table), which cost %s\n",
		r.Store, verb, units.Count(r.Blobs, "blob"), units.Count(r.Bytes, "byte"), units.Count(len(r.Days), "day"), r.Listed,
		units.Count(r.Requests.List+r.Requests.Delete+r.Requests.Tier+r.Requests.Table, "request"),
		r.Requests.List, r.Requests.Delete, r.Requests.Tier, r.Requests.Table, units.Dollars(r.CostUSD))
	moved := "moved"
	if r.DryRun {
		moved = "would move"
	}
	for _, m := range r.Moved {
		fmt.Fprintf(to, "%s %s, %s, to the %s tier\n", moved, units.Count(m.Blobs, "blob"), units.Count(m.Bytes, "byte"),
			strings.ToLower(m.Tier))
	}
	for _, note := range r.Notes {
		fmt.Fprintf(to, "note: %s\n", note)
	}
	for _, k := range r.Kept {
		fmt.Fprintf(to, "kept %s, %s%s\n", units.Count(k.Blobs, "blob"), units.Count(k.Bytes, "byte"), whyKept(k))
	}
	if r.Late > 0 {
		fmt.Fprintf(to, "left %s of past days for the next run: written during this one, or outputs whose segments it deleted\n",
			units.Count(r.Late, "blob"))
	}
	return err
}

// whyKept completes the sentence about blobs that are kept past their retention.
func whyKept(k retention.Kept) string {
	switch {
	case k.Reason != retention.NotNamed:
		return fmt.Sprintf(": %s (%s)", k.Reason, k.First)
	case k.Class == "":
		return fmt.Sprintf(", without a class: %s (%s; --keep DURATION deletes them)", k.Reason, k.First)
	}
	return fmt.Sprintf(", of class %s: %s (%s; --class %s=DURATION deletes them)", k.Class, k.Reason, k.First, k.Class)
}
