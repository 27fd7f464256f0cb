package main

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/audit"
	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/timearg"
	"logstow/store"
	"logstow/store/open"
)

func verifyCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "verify",
		Usage: "compare what is stored with what the index says",
		Description: `Compares names, metadata and index in both directions and prints each difference
on a line: its kind, the blob, and what differs.

  missing-entity   a segment is not in the index            reindex repairs it
  stray-entity     the blob of an index entity is gone      reindex removes it
  wrong-entity     the index says otherwise than the blob   reindex repairs it
  bad-metadata     a segment's metadata can not be read
  wrong-metadata   name or metadata differ from the footer
  bad-segment      a segment's bytes are damaged

By default it lists blobs and index and reads neither; --deep reads every
segment's footer, --full all of it. It may run beside shippers: what differs is
looked at again after two to ten seconds.

Exit status: 0 no difference, 2 wrong command line, 3 there are differences or
something could not be read, 4 access refused, 130 interrupted.`,
		Flags: append(auditFlags(),
			&ucli.BoolFlag{Name: "deep", Usage: "read each segment's footer"},
			&ucli.BoolFlag{Name: "full", Usage: "read each segment whole, and check every checksum and record"},
		),
		Action: func(c *ucli.Context) error {
			o, err := auditSettings(c)
			if err != nil {
				return cli.Usagef("%w", err)
			}
			if c.Bool("full") {
				o.Depth = audit.Blocks
			}
			return eachStore(c, open.Options{Check: true}, func(_ string, s store.Store) error { return runAudit(c, s, o, false) })
		},
	}
}

func reindexCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "reindex",
		Usage: "make the index say what is stored",
		Description: `Writes index entities that are missing or wrong, from the blobs' names, metadata
and footers, and removes those whose blobs are gone. What agrees is left alone, so
it may be run again, and run beside shippers. It prints what it can not
repair, as verify does. The damaged database of a store in a directory is moved
aside, to store.db.broken-TIME, and a new one is made and filled.

With --deep it also compares what only footers say (records per minute).

Exit status: 0 the index is right, 2 wrong command line, 3 something could not be
repaired or read, 4 access refused, 130 interrupted.`,
		Flags: append(auditFlags(),
			&ucli.BoolFlag{Name: "deep", Usage: "compare every entity with its segment's footer"},
		),
		Action: func(c *ucli.Context) error {
			o, err := auditSettings(c)
			if err != nil {
				return cli.Usagef("%w", err)
			}
			return eachStore(c, open.Options{Repair: true}, func(_ string, s store.Store) error { return runAudit(c, s, o, true) })
		},
	}
}

// auditFlags are those that verify and reindex share.
func auditFlags() []ucli.Flag {
	return []ucli.Flag{
		storesFlag(),
		authFlag(),
		&ucli.StringSliceFlag{Name: "service", Aliases: []string{"s"}, Usage: "`SERVICE` or glob; repeatable (default: all)"},
		&ucli.StringFlag{Name: "from", Usage: "from the UTC day of this `TIME` on: 2026-11-20, yesterday, -30d (default: all)"},
		&ucli.StringFlag{Name: "to", Usage: "before this `TIME`, and to the end of the UTC day that it is within (default: all; with --from, to the end of next year)"},
	}
}

// auditSettings reads the command line.
func auditSettings(c *ucli.Context) (o audit.Options, err error) {
	o.Services = c.StringSlice("service")
	if c.Bool("deep") {
		o.Depth = audit.Footers
	}
	var wrong []error
	if c.NArg() > 0 {
		wrong = append(wrong, fmt.Errorf("%s takes no arguments; a service is named with --service", c.Command.Name))
	}
	for _, pattern := range o.Services {
		if _, err := path.Match(pattern, ""); err != nil {
			wrong = append(wrong, fmt.Errorf("--service %q: %w", pattern, err))
		}
	}
	now := time.Now().UTC()
	at := func(flag string) (t time.Time) {
		if c.String(flag) == "" {
			return t
		}
		t, err := timearg.Parse(c.String(flag), now)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("--%s: %w", flag, err))
		}
		return t
	}
	o.From, o.To = at("from"), at("to")
	if !o.From.IsZero() && o.To.IsZero() {
		// A bound, so that only the range is listed: at the end of a year, which are the fewest prefixes.
		o.To = time.Date(max(now.Year(), o.From.Year())+2, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if !o.To.IsZero() && !o.From.Before(o.To) {
		wrong = append(wrong, errors.New("the range is empty: --from is not before --to"))
	}
	return o, errors.Join(wrong...)
}

// runAudit compares one store with its index, and repairs that if it is asked to.
func runAudit(c *ucli.Context, s store.Store, o audit.Options, repair bool) error {
	o.Progress = new(audit.Progress)
	progress := startBar(c.App.ErrWriter, func() (done, all int64, what string) {
		return o.Progress.Compared.Load(), o.Progress.Services.Load(), fmt.Sprintf("services, %d blobs", o.Progress.Blobs.Load())
	})
	var printing error
	o.Found = func(d audit.Difference) {
		progress.above(func() {
			if _, err := fmt.Fprintln(c.App.Writer, d); printing == nil {
				printing = err
			}
		})
	}
	do := audit.Verify
	if repair {
		do = audit.Reindex
	}
	report, err := do(progress.reporting(c), s, o)
	progress.stop()
	if err = errors.Join(err, printing); err != nil {
		return err
	}
	fmt.Fprintln(c.App.ErrWriter, summary(report, repair))
	if report.Services == 0 && len(o.Services) > 0 {
		fmt.Fprintf(c.App.ErrWriter, "%s: nothing is stored of service %s in this range\n", report.Store, strings.Join(o.Services, " or "))
	}
	if err := report.Err(); err != nil {
		return err
	}
	id, err := audit.Pending(s)
	if err != nil {
		return err
	}
	if id != "" {
		return hint.Wrap(errors.New("the index is incomplete: its database was made anew and is not filled yet"),
			"run shipper reindex --store %s, without --service, --from and --to", s)
	}
	if report.Differences > 0 {
		return cli.Exit(cli.Incomplete)
	}
	return nil
}

// summary is a report in one line.
func summary(report audit.Report, repaired bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d segments and %d index entities of %d services", report.Store, report.Blobs, report.Entities, report.Services)
	if report.Foreign > 0 {
		fmt.Fprintf(&b, ", and %d blobs that are no segments", report.Foreign)
	}
	fmt.Fprintf(&b, "; %d differences", report.Differences)
	if repaired {
		fmt.Fprintf(&b, " remain; %d entities written, %d removed", report.Written, report.Removed)
	}
	if len(report.Problems) > 0 {
		b.WriteString("; not everything could be read or written")
	}
	r := report.Requests
	fmt.Fprintf(&b, "; %d requests (%d list, %d get, %d table)", r.Total(), r.List, r.Get, r.Table)
	return b.String()
}
