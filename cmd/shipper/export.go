package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"logstow/config"
	"logstow/export"
	"logstow/export/datafile"
	"logstow/internal/cli"
	splitting "logstow/internal/list"
	"logstow/internal/units"
	"logstow/metrics"
	"logstow/store"
	"logstow/store/open"
)

const (
	categoryTable = "Table"
	// deltaFormat is the only format of tables.
	deltaFormat = "delta"
	// exportMemory is the soft memory limit of an export, unless GOMEMLIMIT is set.
	exportMemory = 160 << 20
)

func exportCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "export",
		Usage: "keep a Delta Lake table of compacted logs",
		UsageText: `shipper export --store azblob://logs --to azblob://lake/logs
shipper export --to azblob://lake/logs --columns user,took_ms:number
shipper export --store /var/lib/logs --to /var/lib/lake --dry-run`,
		Description: `Adds the outputs of compaction that are not in the table yet, each exactly once, and
removes days past --keep. The table is a directory or a part of a container, with
Parquet files partitioned by date, and is created if it is missing. Segments that are
not compacted are not in the table: run it after shipper compact.

Files that were removed from the table, and those of failed runs, are deleted 7 days
later, entries of its log 30 days later. docs/export.md describes the columns and how
Fabric, Databricks, Synapse, ClickHouse and DuckDB read the table.

It may be interrupted and repeated, and may run in parallel with itself, with compact
and with retain.

Exit status: 0 the table has everything that is compacted, 2 wrong command line, 3
something failed or an output is damaged, 4 access denied, 130 interrupted.`,
		Flags: slices.Concat(cli.Under(categoryStore, storesFlag(), authFlag()), cli.Under(categoryTable,
			cli.Text("to", "`TABLE`: directory or azblob://CONTAINER/PREFIX of the table; required"),
			cli.Text("format="+deltaFormat, "`FORMAT`: delta"),
			cli.Text("columns",
				"`LIST`: fields that get a column, each with :integer or :number, otherwise strings; those of the table stay"),
			cli.Text("keep", "`DURATION`: remove days from the table that ended longer ago, such as 90d (default: keep them)"),
			cli.Text("max-age=30d", "`DURATION`: skip days that ended longer ago"),
			cli.Text("file-size=256MiB", "`SIZE`: approximate maximum size of a data file, 1MiB to 1GiB"),
			cli.Text("compression="+string(datafile.Snappy), "`NAME`: compression of the data files: snappy, or zstd, which takes two fifths less storage and two thirds more CPU"),
			tempDirFlag(),
		), cli.Under(categoryLimits,
			cli.Switch("dry-run", "print what would be exported, removed and deleted, and write nothing"),
		), metricsFileFlag(), outputFlag("one object")),
		Action: func(c *ucli.Context) error {
			if os.Getenv("GOMEMLIMIT") == "" {
				debug.SetMemoryLimit(exportMemory)
			}
			m := maintenance[export.Options, export.Report]{settings: exportSettings, job: exportStore, writeMetrics: metrics.WriteExport}
			return m.run(c)
		},
	}
}

// exportSettings reads the command line.
func exportSettings(c *ucli.Context) (export.Options, error) {
	o := export.DefaultOptions()
	var errs problems
	errs.check(len(cli.List(c, "store")) <= 1, "export requires exactly one --store: each has a table of its own")
	format := c.String("format")
	errs.check(format == deltaFormat, "--format %q: want %s", format, deltaFormat)
	errs.advise(c.String("to") != "", "--to is missing", "give a directory or azblob://CONTAINER/PREFIX")
	parseGiven(&errs, c, "to", func(to string) (string, error) {
		_, _, err := open.Destination(to)
		return to, err
	})
	o.MaxAge = parse(&errs, c, "max-age", units.ParseDuration)
	o.Keep = parseGiven(&errs, c, "keep", units.ParseDuration)
	o.FileSize = parse(&errs, c, "file-size", config.SizeFrom(1<<20, 1<<30, "1MiB to 1GiB"))
	o.Compression = parse(&errs, c, "compression", datafile.ParseCompression)
	o.Columns = parse(&errs, c, "columns", exportColumns)
	errs.noArguments(c)
	o.DryRun, o.TempDir = c.Bool("dry-run"), c.String("temp-dir")
	return o, errors.Join(errs...)
}

// exportColumns reads --columns: names of fields as for compact, each with a type.
func exportColumns(list string) (all []export.Column, err error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	texts, err := splitting.Texts(list)
	if err != nil {
		return nil, err
	}
	for _, text := range texts {
		column, err := export.ParseColumn(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		fields, err := config.ParseColumns(column.Field)
		if err != nil {
			return nil, err
		}
		for _, field := range fields {
			all = append(all, export.Column{Field: field, Kind: column.Kind})
		}
	}
	return all, nil
}

// exportStore exports a store and prints the report.
func exportStore(c *ucli.Context, spec string, s store.Store, o export.Options, asJSON bool) (*export.Report, error) {
	to, report := c.String("to"), new(export.Report)
	name, prefix, err := open.Destination(to)
	if err != nil {
		return report, cli.Usagef("--to: %w", err)
	}
	from, fromLocal := open.Dir(spec)
	dir, local := open.Dir(name)
	switch {
	case fromLocal && local && (isWithin(dir, from) || isWithin(from, dir)):
		return report, cli.Usagef("--to %s is in the store, or the store in it", to)
	case fromLocal && local:
		o.Prices = pricesOf(spec)
	case !fromLocal && !local && name == spec && prefix == "":
		return report, cli.Usagef("--to %s is the store", to)
	}
	return report, withStore(c, name, open.Options{}, func(_ string, table store.Store) error {
		o.Progress = new(export.Progress)
		p := o.Progress
		draw := func() string {
			if units := p.Units.Load(); units > 0 {
				return progressText(p.Done.Load(), units, "outputs exported")
			}
			return progressText(p.Listed.Load(), p.Services.Load(), "services listed")
		}
		destination := export.Destination{Blobs: store.Prefixed(table.Blobs(), prefix), Name: open.Shown(to)}
		return runReported(c, asJSON, draw, func(ctx context.Context) (_ *export.Report, looked bool, err error) {
			*report, err = export.Run(ctx, s, destination, o)
			return report, report.Services > 0, err
		}, printExport)
	})
}

// printExport prints a report for people.
func printExport(to io.Writer, r *export.Report) error {
	verb, removed, deleted := "exported", "removed", "deleted"
	if r.DryRun {
		verb, removed, deleted = "would export", "would remove", "would delete"
	}
	if !r.Complete {
		verb = "ended early: " + verb
	}
	q := r.Requests
	files := ""
	if !r.DryRun {
		files = fmt.Sprintf(" to %s (%s)", units.Count(r.Files, "file"), units.FormatSize(r.BytesOut))
	}
	_, err := fmt.Fprintf(to, "%s: %s %s (%s), %s of %s%s; version %d; %s (%d list, %d read, %d create, %d delete), which cost %s\n",
		r.Table, verb, units.Count(r.Units, "output"), units.FormatSize(r.BytesIn), units.Count(r.Records, "record"), units.Count(r.Days, "day"), files,
		r.Version, units.Count(q.Total(), "request"), q.List, q.Get, q.Create, q.Delete, units.Dollars(r.CostUSD))
	for _, note := range []struct {
		n    int64
		text string
	}{
		{int64(r.ExpiredDays), fmt.Sprintf("%s %s (%s) past --keep", removed, units.Count(r.ExpiredDays, "day"),
			units.Count(r.ExpiredFiles, "file"))},
		{r.Deleted, fmt.Sprintf("%s %s (%s) that the table does not need any more", deleted, units.Count(r.Deleted, "blob"),
			units.FormatSize(r.DeletedBytes))},
		{int64(r.Rebuilt), fmt.Sprintf("wrote %s anew because of rejected outputs", units.Count(r.Rebuilt, "day"))},
		{r.Waiting, fmt.Sprintf("%s of past days not exported: shipper compact has not merged them", units.Count(r.Waiting, "segment"))},
		{r.WaitingToday, fmt.Sprintf("%s of today not exported: shipper compact merges them once there are enough, or when the day has ended",
			units.Count(r.WaitingToday, "segment"))},
		{int64(r.Left), fmt.Sprintf("skipped outputs of %s, which retention is deleting", units.Count(r.Left, "service day"))},
		{int64(r.Sealed), fmt.Sprintf("skipped %s that the table has had since before --max-age was raised", units.Count(r.Sealed, "day"))},
		{r.Changed, fmt.Sprintf("%s not UTF-8: other bytes became U+FFFD", units.Count(r.Changed, "text"))},
		{r.Counts.Conflicts, fmt.Sprintf("%s null in the table: not of the type of the column", units.Count(r.Counts.Conflicts, "value"))},
	} {
		if note.n > 0 {
			fmt.Fprintf(to, "note: %s\n", note.text)
		}
	}
	return err
}

// isWithin reports whether a directory is another one, or in it.
func isWithin(dir, other string) bool {
	a, err := filepath.Abs(dir)
	b, otherErr := filepath.Abs(other)
	if err != nil || otherErr != nil {
		return false
	}
	rel, err := filepath.Rel(b, a)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
