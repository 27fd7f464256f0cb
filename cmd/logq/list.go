package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/blobnaming"
	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/jsonlines"
	"logstow/query"
	"logstow/query/output"
	"logstow/query/report"
	"logstow/record"
)

func servicesCommand(env environment) *ucli.Command {
	return &ucli.Command{
		Name:  "services",
		Usage: "print the names of the services that have logs, one per line",
		UsageText: `logq services
logq services --store /var/lib/logs
logq services --store azblob://logs --auth msi`,
		Description: `Exit status: 0 found, 1 no service has logs, 2 wrong command line, 3 incomplete or
failed, 4 access denied, 130 interrupted.`,
		Flags:  storeFlags(),
		Action: quietPipe(func(c *ucli.Context) error { return listServices(c, env) }),
	}
}

func listServices(c *ucli.Context, env environment) (err error) {
	if c.Args().Present() {
		return cli.Usagef("services takes no arguments")
	}
	stores, closeStores, err := env.openStores(c.Context, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStores()) }()
	var all []string
	var failures []error
	answered := false
	for _, s := range stores {
		names, err := query.Services(c.Context, s)
		if err != nil {
			failures = append(failures, fmt.Errorf("cannot list the services of %s: %w", s.Name, err))
		}
		answered = answered || err == nil
		all = append(all, names...)
	}
	slices.Sort(all)
	for _, name := range slices.Compact(all) {
		if _, err := fmt.Fprintln(env.stdout, name); err != nil {
			return err
		}
	}
	if len(all) == 0 && len(failures) == 0 {
		env.printNone("no services", []query.Reason{query.StoreEmpty()})
		return cli.Exit(cli.NoMatch)
	}
	if !answered {
		return errors.Join(failures...)
	}
	for _, err := range failures {
		cli.Report(env.stderr, "logq", err)
	}
	if len(failures) > 0 {
		return cli.Exit(cli.Incomplete)
	}
	return nil
}

func segmentsCommand(env environment) *ucli.Command {
	return &ucli.Command{
		Name:  "segments",
		Usage: "print the segments of a range (default: all), in order of name",
		UsageText: `logq segments -s shop
logq segments --since yesterday -o json
logq segments --from 2026-11-20 --to 2026-11-21`,
		Description: `Prints for each segment its name, the times of its first and last record, the number
of records, their size as text (RAW) and as stored, in bytes, the number of records
of each level, instance and class. Segments that compaction has merged into another
one are not printed; with -o json the merged segment has their number.

Exit status: 0 found, 1 no segment matches, 2 wrong command line, 3 incomplete or
failed, 4 access denied, 130 interrupted.`,
		Flags: slices.Concat(storeFlags(), rangeFlags(), cli.Categorize(categoryOutput,
			&ucli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: report.Table, Usage: "`FORMAT`: table, or json (one object per line); both use UTC without --tz"})),
		Action: quietPipe(func(c *ucli.Context) error { return listSegments(c, env) }),
	}
}

// segmentRow has the printed properties of a segment.
type segmentRow struct {
	Store       string        `json:"store"`
	Name        string        `json:"name"`
	Start       string        `json:"start"`
	End         string        `json:"end"`
	Records     uint64        `json:"records"`
	RawBytes    uint64        `json:"raw_bytes"`
	StoredBytes int64         `json:"stored_bytes"`
	Tier        string        `json:"tier,omitempty"`
	Levels      record.Counts `json:"levels"`
	Instance    string        `json:"instance"`
	Class       string        `json:"class"`
	Batch       string        `json:"batch"`
	Seq         int64         `json:"seq"`
	Foreign     bool          `json:"foreign,omitempty"`
	// Generation is the generation of an output of compaction, Contained the number of listed segments that are
	// not printed because it contains them.
	Generation int `json:"generation,omitempty"`
	Contained  int `json:"contained,omitempty"`
}

// newSegmentRow makes the row of a segment, with times in zone; nil is UTC.
func newSegmentRow(s *query.Segment, zone *time.Location) segmentRow {
	row := segmentRow{
		Store: s.Store, Name: s.Name.String(), Start: output.FormatTime(s.Meta.Start, zone), End: output.FormatTime(s.Meta.End, zone),
		Records: s.Meta.Records, RawBytes: s.Meta.RawBytes, StoredBytes: s.Size, Tier: string(s.Tier), Levels: s.Meta.Levels,
		Instance: s.Meta.Instance, Class: s.Meta.Class, Batch: s.Meta.Batch.String(), Seq: s.Meta.Seq, Foreign: s.Foreign,
	}
	if s.Meta.IsOutput() {
		row.Generation, row.Contained = s.Name.Output(), len(s.Hidden)
	}
	return row
}

func listSegments(c *ucli.Context, env environment) (err error) {
	format := c.String("output")
	if err := cli.OneOf("output", format, listFormats()...); err != nil {
		return err
	}
	if c.Args().Present() {
		return hint.Wrap(cli.Usagef("segments takes no arguments"), "name a service with -s")
	}
	span, err := timeRange(c, env.now())
	if err != nil {
		return err
	}
	zone, err := givenZone(c)
	if err != nil {
		return err
	}
	from, to := span.from, span.to
	if !span.given {
		from, to = everything()
	}
	stores, closeStores, err := env.openStores(c.Context, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStores()) }()
	r := &request{env: env, zone: location(c), span: span, ranged: span.given, sel: query.Selection{
		Services: cli.List(c, "service"), From: from, To: to, Now: env.now().In(location(c)),
	}}
	q, err := newQuery(stores, r.sel, r.opts)
	if err != nil {
		return err
	}
	r.printRange()
	p, err := q.Plan(c.Context)
	if err != nil {
		return err
	}
	rows := make([]segmentRow, len(p.Segments))
	for i, s := range p.Segments {
		rows[i] = newSegmentRow(s, zone)
	}
	slices.SortFunc(rows, func(a, b segmentRow) int { return strings.Compare(a.Name, b.Name) })
	err = env.paged(c.Context, func(env *environment) error {
		if format == "json" {
			return jsonlines.Write(env.stdout, rows...)
		}
		return env.printTable(rows)
	})
	if err != nil {
		return err
	}
	report := q.Report()
	r.printReport(&report)
	if len(rows) == 0 && len(report.Problems) == 0 {
		reasons, err := q.Explain(c.Context, p, false)
		if err != nil {
			return err
		}
		env.printNone("no segments match", reasons)
	}
	if s := status(&report, len(rows) > 0, stores); s != cli.OK {
		return cli.Exit(s)
	}
	return nil
}

func (e *environment) printTable(rows []segmentRow) error {
	if len(rows) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(e.stdout, 0, 8, 2, ' ', 0)
	store := func(string) string { return "" }
	if slices.ContainsFunc(rows, func(r segmentRow) bool { return r.Store != rows[0].Store }) {
		store = func(name string) string { return "\t" + name } // of the same name there may be one in each
	}
	fmt.Fprintln(w, "NAME\tSTART\tEND\tRECORDS\tRAW\tSTORED\tLEVELS\tINSTANCE\tCLASS"+store("STORE"))
	for i := range rows {
		r := &rows[i]
		if r.Foreign { // its times are bounds, and nothing else is known
			fmt.Fprintf(w, "%s\t%s\t%s\t?\t?\t%d\t?\t-\t%s\n", r.Name, r.Start, r.End, r.StoredBytes, store(r.Store))
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s%s\n", r.Name, r.Start, r.End, r.Records, r.RawBytes, r.StoredBytes,
			blobnaming.FormatLevels(r.Levels), r.Instance, r.Class, store(r.Store))
	}
	return w.Flush()
}
