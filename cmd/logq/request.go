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
)

// request is the command line of a query.
type request struct {
	env    environment
	sel    query.Selection
	opts   query.Options
	output output.Options
	around query.ContextLines
	zone   *time.Location // of times that name none
	span   span           // the range as it was given
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
	// fresh has shippers flush before, noWatch creates no watches while following.
	fresh, noWatch bool
	notes          []string
	// unsorted is the field of --sort that no record has.
	unsorted []string
	// reasons why nothing matched; nil if something did.
	reasons []query.Reason

	progress queryProgress
}

// newRequest reads the selection and the options for reading, which all commands have that read records.
func newRequest(c *ucli.Context, env environment, now time.Time) (*request, error) {
	r := &request{env: env, zone: location(c), explain: c.Bool("explain"), fresh: c.Bool("fresh")}
	return r, r.readSelection(c, now)
}

// readRequest reads the command line of query.
func readRequest(c *ucli.Context, env environment) (*request, error) {
	now := env.now()
	r, err := newRequest(c, env, now)
	if err != nil {
		return nil, err
	}
	r.count, r.follow, r.sel.Newest = c.Bool("count"), c.Bool("follow"), c.Bool("newest")
	if r.sel.Limit, err = readLimit(c); err != nil {
		return nil, err
	}
	if err := r.readFollow(c, now); err != nil {
		return nil, err
	}
	if err := r.readContext(c); err != nil {
		return nil, err
	}
	if err := r.readSort(c); err != nil {
		return nil, err
	}
	err = r.readOutput(c, now)
	r.arriving = r.arrive(c)
	return r, err
}

// readSelection reads the selection and the options for reading.
func (r *request) readSelection(c *ucli.Context, now time.Time) (err error) {
	if r.span, err = timeRange(c, now); err != nil {
		return err
	}
	r.ranged = r.span.given
	if err := checkFiles(c); err != nil {
		return err
	}
	if r.files = ofFiles(c); r.files && !r.ranged {
		r.span.from, r.span.to = everything()
	}
	if r.sel, err = selection(c, r.span.from, r.span.to, now); err != nil {
		return err
	}
	if r.sel.IDs, err = readIDs(c, r.env); err != nil {
		return err
	}
	r.opts, err = readOptions(c, r.env)
	return err
}

// readLimit reads --limit; 0 if it is not given.
func readLimit(c *ucli.Context) (int, error) {
	n := c.Int("limit")
	if c.IsSet("limit") && n < 1 {
		return 0, cli.Usagef("--limit %d: want at least 1", n)
	}
	return n, nil
}

// readFollow reads --follow, --fresh and --tail.
func (r *request) readFollow(c *ucli.Context, now time.Time) error {
	r.window, r.noWatch = follow.DefaultWindow, c.Bool("no-watch")
	for name, to := range map[string]*time.Duration{"follow-window": &r.window, "follow-interval": &r.interval} {
		if !c.IsSet(name) {
			continue
		}
		if !r.follow {
			return cli.Usagef("--%s requires --follow", name)
		}
		var err error
		if *to, err = units.ParseDuration(c.String(name)); err != nil {
			return cli.Usagef("--%s: %w", name, err)
		}
	}
	if c.IsSet("follow-interval") && r.interval < follow.MinInterval {
		return cli.Usagef("--follow-interval %v: want at least %v", r.interval, follow.MinInterval)
	}
	if r.tail = c.Int("tail"); c.IsSet("tail") && r.tail < 1 {
		return cli.Usagef("--tail %d: want at least 1", r.tail)
	}
	switch {
	case r.tail > 0 && (r.count || r.sel.Newest || r.sel.Limit > 0):
		return cli.Usagef("--tail cannot be used together with --count, --newest or --limit")
	case r.noWatch && !r.follow:
		return cli.Usagef("--no-watch requires --follow")
	case r.follow && r.fresh:
		return cli.Usagef("--follow cannot be used together with --fresh: it makes shippers flush while it runs")
	case r.follow && (r.count || r.sel.Newest || c.IsSet("to")):
		return cli.Usagef("--follow cannot be used together with --count, --newest or --to")
	case r.follow && r.tail > 0 && slices.Contains(cli.List(c, "file"), "-"):
		return cli.Usagef("--tail cannot be used together with --follow and --file -: the last records of standard input are known only at its end")
	}
	switch {
	case r.follow && r.files:
		_, r.sel.To = everything()
	case r.follow:
		r.sel.To = follow.End(now)
		if !r.ranged {
			r.sel.From = now.Add(-r.window)
		}
	}
	return nil
}

// readContext reads -A, -B and -C; -C sets the others if they are not given.
func (r *request) readContext(c *ucli.Context) error {
	for _, one := range []struct {
		name string
		to   *int
	}{{"before-context", &r.around.Before}, {"after-context", &r.around.After}} {
		name := one.name
		if !c.IsSet(name) {
			name = "context"
		}
		if *one.to = c.Int(name); *one.to < 0 || *one.to > query.MaxContextLines {
			return cli.Usagef("--%s %d: want 0 to %d", name, *one.to, query.MaxContextLines)
		}
	}
	if r.around != (query.ContextLines{}) && (r.count || r.follow || r.tail > 0) {
		return cli.Usagef("-A, -B and -C cannot be used together with --count, --follow or --tail")
	}
	return nil
}

// crossesDay reports whether the range up to now includes another day than today, in the
// zone of the output. That of files without a range is not known before they are read.
func (r *request) crossesDay(now time.Time) bool {
	if r.files && !r.ranged {
		return false
	}
	date := func(t time.Time) string { return t.In(r.zone).Format(time.DateOnly) }
	last := r.sel.To.Add(-1)
	if last.After(now) {
		last = now
	}
	return date(r.sel.From) != date(now) || date(last) != date(now)
}

// readOutput reads the output format.
func (r *request) readOutput(c *ucli.Context, now time.Time) error {
	onTerminal := r.env.out.terminal()
	if err := output.CheckFields(cli.List(c, "fields")); err != nil {
		return cli.Usagef("--fields: %w", err)
	}
	r.output = output.Options{
		Format: c.String("output"), Fields: cli.List(c, "fields"), Terminal: onTerminal, Location: r.zone,
		Around: r.around != (query.ContextLines{}), Late: r.follow, Today: now, Dates: r.crossesDay(now),
	}
	var err error
	if r.output.Zone, err = givenZone(c); err != nil {
		return err
	}
	when := c.String("color")
	r.output.Color = when == "always" ||
		when == "auto" && onTerminal && r.env.getenv("NO_COLOR") == "" && r.env.getenv("TERM") != "dumb"
	if onTerminal && !c.Bool("wrap") {
		r.output.Width = r.env.out.columns
		if n, err := strconv.Atoi(r.env.getenv("COLUMNS")); err == nil && n > 0 {
			r.output.Width = n
		}
	}
	if r.output.Format == "" {
		r.output.Format = output.Text
		if onTerminal {
			r.output.Format = output.Pretty
		}
	}
	if err := cli.OneOf("color", when, colorModes()...); err != nil {
		return err
	}
	if r.output.Format == output.Parquet {
		return r.checkParquet()
	}
	return r.readTemplate()
}

// checkParquet reports what Parquet cannot be used together with.
func (r *request) checkParquet() error {
	switch {
	case r.count || r.distinct != nil:
		return cli.Usagef("-o parquet cannot be used together with --count or --distinct: the file has records only")
	case r.follow:
		return cli.Usagef("-o parquet cannot be used together with --follow: the file is readable only once it is complete")
	}
	return r.env.checkParquet("records.parquet")
}

// checkParquet reports that standard output is a terminal, which Parquet is not for; file is the hint's.
func (e *environment) checkParquet(file string) error {
	if !e.out.terminal() {
		return nil
	}
	return hint.Wrap(cli.Usagef("-o parquet cannot be written to a terminal"), "redirect it to a file: > %s", file)
}

// readTemplate reads the template of an output format template=TEXT.
func (r *request) readTemplate() error {
	format, text, given := strings.Cut(r.output.Format, "=")
	if format != output.Template {
		return cli.OneOf("output", r.output.Format, recordFormats()...)
	}
	if !given || text == "" {
		return hint.Wrap(cli.Usagef("--output template requires a template"), "write -o template='{{.time}} {{.message}}'")
	}
	if r.distinct != nil {
		return cli.Usagef("--distinct cannot be used together with a template: values are printed, not records")
	}
	if len(r.output.Fields) > 0 {
		return cli.Usagef("--fields cannot be used together with a template: the template names the fields")
	}
	var err error
	if r.output.Template, err = output.CompileTemplate(text); err != nil {
		return cli.Usagef("--output template: %w", err)
	}
	r.output.Format = format
	return nil
}
