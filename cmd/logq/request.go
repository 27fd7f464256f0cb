package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"logstow/field"
	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/units"
	"logstow/query"
	"logstow/query/follow"
	"logstow/query/output"
	"logstow/query/report"
)

// request is the command line of a query.
type request struct {
	c      *ucli.Context
	env    environment
	now    time.Time // in the zone
	sel    query.Selection
	opts   query.Options
	output output.Options
	around query.ContextLines
	// zone is the zone of times that name none; given is that of the command line, nil if it has none.
	zone, given *time.Location
	span        span // the range as it was given
	// compared are the two ranges of --before and --after; nil without these.
	compared []span
	ranged   bool // a range was given
	files    bool // files are read, no stores
	arriving bool // records of standard input are printed as they arrive
	count    bool
	explain  bool
	follow   bool
	tail     int // 0 if not given
	// sort is the order of --sort, distinct the name of --distinct; nil if they are not given.
	sort     *query.SortOrder
	distinct *field.Name
	// empty is set if nothing is printed of records that match.
	empty bool
	// window and interval are those of following; an interval of 0 is the default.
	window, interval time.Duration
	// noWatch creates no watches while following.
	noWatch bool
	notes   []string
	// unsorted is the field of --sort that no record has.
	unsorted []string
	// reasons why nothing matched; nil if something did.
	reasons []query.Reason

	compiled *query.Query // over no stores
	progress queryProgress
}

// newRequest reads the range, which is everything for files without one, and checks the flags.
func newRequest(c *ucli.Context, env environment) (*request, error) {
	r := &request{c: c, env: env, now: env.now(), explain: c.Bool("explain"), files: ofFiles(c)}
	err := r.readRange()
	if err == nil {
		err = checkSample(c)
	}
	if r.files && !r.ranged {
		r.span.from, r.span.to = everything()
	}
	return r, err
}

// newSearch reads the selection and the options for reading, which all commands have that search records.
func newSearch(c *ucli.Context, env environment) (*request, error) {
	r, err := newRequest(c, env)
	for _, read := range []func() error{r.checkFiles, r.readSelection, r.readIDs, r.readOptions} {
		if err == nil {
			err = read()
		}
	}
	return r, err
}

// readRequest reads the command line of query.
func readRequest(c *ucli.Context, env environment) (*request, error) {
	r, err := newSearch(c, env)
	r.count, r.follow, r.sel.Newest = c.Bool("count"), c.Bool("follow"), c.Bool("newest")
	for _, read := range []func() error{r.readSample, r.readLimit, r.readFollow, r.readContext, r.readSort, r.readOutput} {
		if err == nil {
			err = read()
		}
	}
	r.arriving = r.arrive()
	return r, err
}

// readSample reads --sample.
func (r *request) readSample() error {
	text := r.c.String("sample")
	if !r.c.IsSet("sample") {
		return nil
	}
	number, ok := strings.CutSuffix(text, "%")
	percent, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(percent > 0 && percent <= 100) {
		return cli.Usagef("--sample %s: want a share of more than 0%% and at most 100%%, such as 1%%", text)
	}
	if percent == 100 {
		return nil
	}
	r.sel.Sample = percent / 100
	r.notef("sample of %s of the records that match; other runs have the same one", text)
	return nil
}

// readLimit reads --limit.
func (r *request) readLimit() error {
	if r.sel.Limit = r.c.Int("limit"); r.c.IsSet("limit") && r.sel.Limit < 1 {
		return cli.Usagef("--limit %d: want at least 1", r.sel.Limit)
	}
	return nil
}

// readFollow reads --tail and what belongs to --follow.
func (r *request) readFollow() error {
	r.window, r.noWatch = follow.DefaultWindow, r.c.Bool("no-watch")
	for name, to := range map[string]*time.Duration{"follow-window": &r.window, "follow-interval": &r.interval} {
		if !r.c.IsSet(name) {
			continue
		}
		var err error
		if *to, err = units.ParseDuration(r.c.String(name)); err != nil {
			return cli.Usagef("--%s: %w", name, err)
		}
	}
	if r.c.IsSet("follow-interval") && r.interval < follow.MinInterval {
		return cli.Usagef("--follow-interval %v: want at least %v", r.interval, follow.MinInterval)
	}
	if r.tail = r.c.Int("tail"); r.c.IsSet("tail") && r.tail < 1 {
		return cli.Usagef("--tail %d: want at least 1", r.tail)
	}
	switch {
	case !r.follow:
	case r.tail > 0 && slices.Contains(cli.List(r.c, "file"), "-"):
		return cli.Usagef("--tail cannot be used together with --follow and --file -: the last records of standard input are known only at its end")
	case r.files:
		_, r.sel.To = everything()
	default:
		r.sel.To = follow.End(r.now)
		if !r.ranged {
			r.sel.From = r.now.Add(-r.window)
		}
	}
	return nil
}

// readContext reads -A, -B and -C; -C sets the others if they are not given.
func (r *request) readContext() error {
	for i, to := range []*int{&r.around.Before, &r.around.After} {
		name := []string{"before-context", "after-context"}[i]
		if !r.c.IsSet(name) {
			name = "context"
		}
		if *to = r.c.Int(name); *to < 0 || *to > query.MaxContextLines {
			return cli.Usagef("--%s %d: want 0 to %d", name, *to, query.MaxContextLines)
		}
	}
	if r.around != (query.ContextLines{}) && (r.count || r.follow || r.tail > 0) {
		return cli.Usagef("-A, -B and -C cannot be used together with --count, --follow or --tail")
	}
	return nil
}

// crossesDay reports whether the range up to now includes another day than today, in the
// zone of the output. That of files without a range is not known before they are read.
func (r *request) crossesDay() bool {
	if r.files && !r.ranged {
		return false
	}
	date := func(t time.Time) string { return t.In(r.zone).Format(time.DateOnly) }
	last := r.sel.To.Add(-1)
	if last.After(r.now) {
		last = r.now
	}
	return date(r.sel.From) != date(r.now) || date(last) != date(r.now)
}

// outputZone is the zone of times in a format of a command that prints tables; others than these are in UTC without --tz.
func (r *request) outputZone(format string) *time.Location {
	if r.given == nil && format != report.Table {
		return time.UTC
	}
	return r.zone
}

// readOutput reads the output format.
func (r *request) readOutput() (err error) {
	c, onTerminal := r.c, r.env.out.terminal()
	fields := cli.List(c, "fields")
	if err := output.CheckFields(fields); err != nil {
		return cli.Usagef("--fields: %w", err)
	}
	r.output = output.Options{
		Format: c.String("output"), Fields: fields, Terminal: onTerminal, Location: r.zone, Zone: r.given,
		Around: r.around != (query.ContextLines{}), Late: r.follow, Today: r.now, Dates: r.crossesDay(),
	}
	when := c.String("color")
	r.output.Color = when == "always" ||
		when == "auto" && onTerminal && r.env.getenv("NO_COLOR") == "" && r.env.getenv("TERM") != "dumb"
	if onTerminal && !c.Bool("wrap") {
		r.output.Width = r.env.out.columns
	}
	if r.output.Format == "" {
		r.output.Format = output.Text
		if onTerminal {
			r.output.Format = output.Pretty
		}
	}
	format, text, _ := strings.Cut(r.output.Format, "=")
	r.output.Indent = c.Bool("indent")
	switch {
	case r.output.Indent && format != output.JSON && format != output.Flat:
		err = cli.Usagef("--indent requires -o json or flat")
	case format == output.Template && text == "":
		err = hint.Wrap(cli.Usagef("--output template requires a template"), "write -o template='{{.time}} {{.message}}'")
	case format == output.Template && r.distinct != nil:
		err = cli.Usagef("--distinct cannot be used together with a template: values are printed, not records")
	case format == output.Template && len(fields) > 0:
		err = cli.Usagef("--fields cannot be used together with a template: the template names the fields")
	case format == output.Template:
		r.output.Format = format
		if r.output.Template, err = output.CompileTemplate(text); err != nil {
			err = cli.Usagef("--output template: %w", err)
		}
	case format != output.Parquet:
	case r.count || r.distinct != nil:
		err = cli.Usagef("-o parquet cannot be used together with --count or --distinct: the file has records only")
	case r.follow:
		err = cli.Usagef("-o parquet cannot be used together with --follow: the file is readable only once it is complete")
	default:
		err = r.env.checkParquet("records.parquet")
	}
	return err
}

// checkParquet reports that standard output is a terminal, which Parquet is not for; file is the hint's.
func (e *environment) checkParquet(file string) error {
	if !e.out.terminal() {
		return nil
	}
	return hint.Wrap(cli.Usagef("-o parquet cannot be written to a terminal"), "redirect it to a file: > %s", file)
}
