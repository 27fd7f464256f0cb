package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/audit"
	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/jsonlines"
	"logstow/internal/units"
	"logstow/store"
	"logstow/store/open"
)

func verifyCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "verify",
		Usage: "compare blobs and index",
		UsageText: `shipper verify --store azblob://logs
shipper verify --store azblob://logs --since 7d --deep
shipper verify --store /var/lib/logs --service shop --full -o json`,
		Description: `Compares names and metadata of blobs with the index, which has an entity (a row) for
each segment, in both directions, and prints each difference on a line: its kind, the
blob, and the details.

  missing-entity   a segment is not in the index             reindex repairs it
  stray-entity     the blob of an index entity is gone       reindex removes it
  wrong-entity     the index entity does not match the blob  reindex repairs it
  bad-metadata     a segment's metadata cannot be read
  wrong-metadata   name or metadata differ from the footer
  bad-segment      a segment's bytes are damaged

By default only listings are compared and no blob is read; --deep reads the footer of
every segment, which describes its contents, --full the whole segment. It may be used
while shippers run: differences are checked again after two to ten seconds.

Exit status: 0 no difference, 2 wrong command line, 3 there are differences or
something could not be read, 4 access denied, 130 interrupted.`,
		Flags: slices.Concat(auditFlags(), cli.Under(categoryDepth,
			cli.Switch("deep", "also read each segment's footer, and compare it"),
			cli.Switch("full", "read whole segments, and check every checksum and record; includes --deep"),
		), outputFlag("one object per difference, then the report")),
		Action: func(c *ucli.Context) error { return auditStores(c, false) },
	}
}

func reindexCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "reindex",
		Usage: "rebuild the index from the blobs",
		UsageText: `shipper reindex --store azblob://logs
shipper reindex --store azblob://logs --since 7d --service shop
shipper reindex --store /var/lib/logs --from 2026-11-20 --to 2026-11-21`,
		Description: `Writes missing and wrong index entities, from the blobs' names, metadata and footers,
and removes entities whose blobs are gone. Correct entities are not changed, so it
may be repeated, and may be used while shippers run. It prints the differences that
it cannot repair, as verify does. The damaged database of a store in a directory is
renamed to store.db.broken-TIME, and a new one is created and filled.

With --deep it also compares the data that only the segments' footers contain
(records per minute).

Exit status: 0 the index is correct, 2 wrong command line, 3 something could not be
repaired or read, 4 access denied, 130 interrupted.`,
		Flags: slices.Concat(auditFlags(), cli.Under(categoryDepth,
			cli.Switch("deep", "also compare each entity with its segment's footer"),
		), outputFlag("one object per remaining difference, then the report")),
		Action: func(c *ucli.Context) error { return auditStores(c, true) },
	}
}

// auditFlags are the flags of verify and reindex.
func auditFlags() []ucli.Flag {
	return slices.Concat(cli.Under(categoryStore, storesFlag(), authFlag()), cli.Under(categoryRange,
		servicesFlag(),
		cli.Text("since", "`TIME`: first UTC day, as a duration before now or a time: 7d, yesterday; not with --from (default: all)"),
		cli.Text("from", "`TIME`: first UTC day: 2026-11-20, yesterday, -30d (default: all)"),
		cli.Text("to", "`TIME`: end of the range, exclusive, rounded up to a UTC day (default: no limit)"),
	))
}

// auditStores is verify, or reindex if repair is set.
func auditStores(c *ucli.Context, repair bool) error {
	m := maintenance[audit.Options, audit.Report]{settings: auditSettings, open: open.Options{Check: !repair, Repair: repair}}
	m.job = func(c *ucli.Context, _ string, s store.Store, o audit.Options, asJSON bool) (*audit.Report, error) {
		return nil, runAudit(c, s, o, repair, asJSON)
	}
	return m.run(c)
}

// auditSettings reads the command line.
func auditSettings(c *ucli.Context) (o audit.Options, err error) {
	var errs problems
	o.Services = parseServices(&errs, c)
	if c.Bool("deep") {
		o.Depth = audit.Footers
	}
	if c.Bool("full") {
		o.Depth = audit.Blocks
	}
	errs.advise(c.NArg() == 0, c.Command.Name+" takes no arguments", "name a service with --service")
	now := time.Now().UTC()
	o.From, o.To = parseRange(&errs, c, now)
	if !o.From.IsZero() && o.To.IsZero() {
		// Bounded, so that only the range is listed; the end of a year takes the fewest prefixes.
		o.To = time.Date(max(now.Year(), o.From.Year())+2, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	errs.checkRange(o.From, o.To)
	return o, errors.Join(errs...)
}

// runAudit compares one store with its index, and repairs the index if repair is set.
func runAudit(c *ucli.Context, s store.Store, o audit.Options, repair, asJSON bool) error {
	o.Progress = new(audit.Progress)
	line := newProgress(c)
	stop := line.Start(func() string {
		return progressText(o.Progress.Compared.Load(), o.Progress.Services.Load(),
			"services, "+units.Count(o.Progress.Blobs.Load(), "blob"))
	})
	var printing error
	print := func(v any) (err error) {
		if asJSON {
			return jsonlines.Write(c.App.Writer, v)
		}
		_, err = fmt.Fprintln(c.App.Writer, v)
		return err
	}
	o.OnDifference = func(d audit.Difference) {
		line.Above(func() {
			if err := print(d); printing == nil {
				printing = err
			}
		})
	}
	do := audit.Verify
	if repair {
		do = audit.Reindex
	}
	report, err := do(reporting(c, line), s, o)
	stop()
	if err == nil && asJSON {
		printing = errors.Join(printing, print(&report))
	}
	if err = errors.Join(err, printing); err != nil {
		return err
	}
	fmt.Fprintln(c.App.ErrWriter, summary(report, repair))
	if report.Misplaced > 0 {
		fmt.Fprintf(c.App.ErrWriter, "note: %s in the container of segments ignored, such as %s: page blobs, or named or described as output of compaction, which only shipper compact makes, in the container beside it\n",
			units.Count(report.Misplaced, "blob"), report.MisplacedNames[0])
	}
	if report.Services == 0 && len(o.Services) > 0 {
		fmt.Fprintf(c.App.ErrWriter, "%s: no segments of service %s in this range\n", report.Store, strings.Join(o.Services, " or "))
	}
	if err := report.Err(); err != nil {
		return err
	}
	id, err := store.PendingReindex(s)
	if err != nil {
		return err
	}
	if id != "" {
		return hint.Wrap(errors.New("the index is incomplete: its database was replaced and is not filled yet"),
			"run shipper reindex --store %s, without --service, --from and --to", s)
	}
	if report.Differences > 0 {
		return cli.Exit(cli.Incomplete)
	}
	return nil
}

// summary is a report on one line.
func summary(report audit.Report, repaired bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s and %s of %s", report.Store, units.Count(report.Blobs, "segment"),
		units.Count(report.Entities, "index entity"), units.Count(report.Services, "service"))
	if report.Foreign > 0 {
		fmt.Fprintf(&b, ", and %s of other kinds", units.Count(report.Foreign, "blob"))
	}
	fmt.Fprintf(&b, "; %s", units.Count(report.Differences, "difference"))
	if repaired {
		fmt.Fprintf(&b, " remaining; %s written, %d removed", units.Count(report.Written, "entity"), report.Removed)
	}
	if len(report.Problems) > 0 {
		b.WriteString("; not everything could be read or written")
	}
	r := report.Requests
	fmt.Fprintf(&b, "; %s (%d list, %d get, %d table)", units.Count(r.Total(), "request"), r.List, r.Get, r.Table)
	return b.String()
}
