package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/blobnaming"
	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/jsonlines"
	"logstow/internal/units"
	"logstow/query"
	"logstow/query/explain"
	"logstow/query/output"
	"logstow/query/report"
	"logstow/record"
)

func servicesCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "services",
		Usage: "print the names of the services that have logs, one per line",
		UsageText: `logq services
logq services --store /var/lib/logs
logq services --store azblob://logs --auth msi`,
		Description: `Exit status: 0 found, 1 no service has logs, 2 wrong command line, 3 incomplete or
failed, 4 access denied, 130 interrupted.`,
	}
}

func listServices(c *ucli.Context, env environment) error {
	if c.Args().Present() {
		return cli.Usagef("services takes no arguments")
	}
	return env.withStores(c.Context, c, func(stores []query.Store) error {
		all, problems := query.AllServices(c.Context, stores)
		var failures []error
		for _, p := range problems {
			failures = append(failures, fmt.Errorf("cannot list the services of %s: %w", p.Store, p.Err))
		}
		err := env.paged(c.Context, func(env *environment) error { return output.WriteLines(env.stdout, all) })
		switch {
		case err != nil:
			return err
		case len(failures) == 0 && len(all) == 0:
			env.printNone("no services", withLayouts(c.Context, "", stores, []query.Reason{explain.StoreEmpty()}))
			return cli.Exit(cli.NoMatch)
		case len(failures) == 0:
			return nil
		case len(failures) == len(stores):
			return errors.Join(failures...)
		}
		for _, err := range failures {
			cli.Report(env.stderr, "logq", err)
		}
		return cli.Exit(cli.Incomplete)
	})
}

func segmentsCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "segments",
		Usage: "print the segments of a range (default: all), in order of name",
		UsageText: `logq segments -s shop
logq segments --since yesterday -o json
logq segments -s shop --since 1d --paths`,
		Description: `Prints for each segment its name, the times of its first and last record, the number
of records, their size as text (RAW) and as stored, in bytes, the number of records
of each level, instance and class. Segments that compaction has merged into another
one are not printed; with -o json the merged segment has their number.

With --paths it prints where other programs find these segments, and no record is in
two of them. It leaves out those that only logq can read, reports them, and exits
with 3. A segment may also have records outside the range or of other levels.

Exit status: 0 found, 1 no segment matches, 2 wrong command line, 3 incomplete or
failed, 4 access denied, 130 interrupted.`,
	}
}

// segmentRow has the printed properties of a segment.
type segmentRow struct {
	Store string `json:"store"`
	Name  string `json:"name"`
	// Path is the path or URL of the blob, with --paths.
	Path        string        `json:"path,omitempty"`
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
	// Instances is the number of instances whose records a relay put into the segment.
	Instances uint32 `json:"instances,omitempty"`

	// times are Start and End in Unix nanoseconds.
	times [2]int64
}

// shortRange returns the times of a range for people: without the date of the end if it is that of the start.
func shortRange(times [2]int64, zone *time.Location) (start, end string) {
	from, to := time.Unix(0, times[0]).In(zone), time.Unix(0, times[1]).In(zone)
	start, end = from.Format(time.DateTime), to.Format(time.DateTime)
	if date, clock, _ := strings.Cut(end, " "); strings.HasPrefix(start, date) {
		end = clock
	}
	return start, end
}

// newSegmentRow makes the row of a segment, with times in zone; nil is UTC.
func newSegmentRow(s *query.Segment, zone *time.Location) segmentRow {
	row := segmentRow{
		Store: s.Store, Name: s.Name.String(), Start: output.FormatTime(s.Meta.Start, zone), End: output.FormatTime(s.Meta.End, zone),
		Records: s.Meta.Records, RawBytes: s.Meta.RawBytes, StoredBytes: s.Size, Tier: string(s.Tier), Levels: s.Meta.Levels,
		Instance: s.Meta.Instance, Class: s.Meta.Class, Batch: s.Meta.Batch.String(), Seq: s.Meta.Seq, Foreign: s.Foreign,
		Instances: s.Meta.Instances, times: [2]int64{s.Meta.Start, s.Meta.End},
	}
	if s.Meta.IsOutput() {
		row.Generation, row.Contained = s.Name.Output(), len(s.Hidden)
	}
	return row
}

func listSegments(c *ucli.Context, env environment) error {
	if c.Args().Present() {
		return hint.Wrap(cli.Usagef("segments takes no arguments"), "name a service with -s")
	}
	r, err := newRequest(c, env)
	if err != nil {
		return err
	}
	if !r.ranged {
		r.span.from, r.span.to = everything()
	}
	r.sel = query.Selection{Services: cli.List(c, "service"), From: r.span.from, To: r.span.to, Now: r.now}
	if err := r.readLevels(); err != nil {
		return err
	}
	return r.withStores(func(q *query.Query, stores []query.Store) error {
		p, err := q.Plan(c.Context)
		if err != nil {
			return err
		}
		var unreadable []*query.Problem
		locations := locationsOf(stores)
		rows := make([]segmentRow, 0, len(p.Segments))
		for _, s := range p.Segments {
			row := newSegmentRow(s, r.given)
			if c.Bool("paths") {
				if isRepeated(c.Context, q, s) {
					continue
				}
				if err := unreadableByOthers(s, len(stores)); err != nil {
					unreadable = append(unreadable, &query.Problem{Store: s.Store, Object: s.String(), Err: err})
					continue
				}
				row.Path = locations.path(s)
			}
			rows = append(rows, row)
		}
		slices.SortFunc(rows, func(a, b segmentRow) int { return strings.Compare(a.Name, b.Name) })
		err = env.paged(c.Context, func(env *environment) error {
			switch {
			case c.String("output") == report.JSON:
				return jsonlines.Write(env.stdout, rows...)
			case c.Bool("paths"):
				return output.WriteLines(env.stdout, pathsOf(rows))
			}
			return env.printTable(rows, r.zone)
		})
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			r.noteMissingServices(c.Context, q)
		}
		report := q.Report()
		report.Problems = append(report.Problems, unreadable...)
		r.printReport(&report)
		if len(rows) == 0 && len(report.Problems) == 0 {
			reasons, err := q.Explain(c.Context, p, query.ExplainOptions{})
			if err != nil {
				return err
			}
			env.printNone("no segments match", reasons)
		}
		return status(&report, len(rows) > 0, stores)
	})
}

// printTable prints aligned columns. On a terminal times are in zone and as short as in a query, and sizes have units.
func (e *environment) printTable(rows []segmentRow, zone *time.Location) error {
	if len(rows) == 0 {
		return nil
	}
	table := [][]string{{"NAME", "START", "END", "RECORDS", "RAW", "STORED", "LEVELS", "INSTANCE", "CLASS", "STORE"}}
	for i := range rows {
		r := &rows[i]
		start, end, size := r.Start, r.End, func(n uint64) string { return strconv.FormatUint(n, 10) }
		if e.out.terminal() {
			start, end = shortRange(r.times, zone)
			size = func(n uint64) string { return units.FormatSize(int64(n)) }
		}
		cells := []string{r.Name, start, end, "?", "?", size(uint64(r.StoredBytes)), "?", "-", "", r.Store}
		if !r.Foreign { // else its times are bounds, and nothing else is known
			cells[3], cells[4] = strconv.FormatUint(r.Records, 10), size(r.RawBytes)
			cells[6], cells[7], cells[8] = blobnaming.FormatLevels(r.Levels), r.writer(), r.Class
		}
		table = append(table, cells)
	}
	if !slices.ContainsFunc(rows, func(r segmentRow) bool { return r.Store != rows[0].Store }) { // else of the same name there may be one in each
		for i := range table {
			table[i] = table[i][:9]
		}
	}
	return output.WriteLines(e.stdout, output.Align(table))
}

// writer is the instance that wrote the segment, or the number of those whose records a relay put into it.
func (r *segmentRow) writer() string {
	if r.Instances > 0 {
		return units.Count(int(r.Instances), "instance")
	}
	return r.Instance
}
