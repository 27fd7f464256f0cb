package main

import (
	"math"
	"os"
	"slices"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/cli"
	"logstow/internal/hint"
	"logstow/internal/price"
	"logstow/internal/suggest"
	"logstow/internal/units"
	"logstow/message/parse"
	"logstow/query"
	"logstow/record"
)

// levelNames are the names of levels.
func levelNames() []string { return []string{"trace", "debug", "info", "warn", "error", "fatal"} }

// readSelection reads the selection; the arguments are patterns.
func (r *request) readSelection() error {
	c := r.c
	sel := &r.sel
	*sel = query.Selection{
		Services: cli.List(c, "service"), From: r.span.from, To: r.span.to, Sources: cli.List(c, "source"),
		Patterns: c.Args().Slice(), Regexps: cli.List(c, "regexp"), Excludes: cli.List(c, "exclude"),
		Templates: cli.List(c, "pattern"), Where: cli.List(c, "where"), Now: r.now,
		IgnoreCase: c.Bool("ignore-case"), Substring: c.Bool("substring"),
	}
	if slices.Contains(sel.Patterns, "") {
		return hint.Wrap(cli.Usagef("PATTERN is empty"), "omit it to find every record; a shell variable in it may be unset")
	}
	parser, err := fieldParser(c)
	if err != nil {
		return err
	}
	if !r.files { // they are read with it
		sel.Parser = parser
	}
	for _, text := range cli.List(c, "level") {
		levels, err := record.ParseLevels(text)
		if err != nil {
			return hint.Wrap(cli.Usagef("--level: %w", err), "%s", suggest.DidYouMean(strings.TrimSuffix(text, "+"), levelNames()))
		}
		sel.Levels |= levels
	}
	return nil
}

// fieldParser reads --parse; nil is that of each segment.
func fieldParser(c *ucli.Context) (*parse.Parser, error) {
	if !c.IsSet("parse") {
		return nil, nil
	}
	parser, err := parse.Compile(c.String("parse"))
	if err != nil {
		return nil, cli.Usagef("--parse: %w", err)
	}
	if parser.NeedsHeader() && !ofFiles(c) {
		return nil, hint.Wrap(cli.Usagef("--parse csv without columns is for --file: the first line of a file names them"), "write csv 'time,level,message'")
	}
	return parser, nil
}

// readOptions reads the plan and the limits, and whether --explain needs the tiers of blobs.
func (r *request) readOptions() (err error) {
	r.opts.Tiers = r.explain || r.c.IsSet("max-cost")
	if r.opts.Plan = query.PlanList; r.c.String("plan") == query.PlanIndex {
		r.opts.Plan = query.PlanIndex
	}
	return readLimits(r.c, r.env, &r.opts)
}

// readLimits reads --max-bytes, --max-cost and --prices.
func readLimits(c *ucli.Context, env environment, opts *query.Options) (err error) {
	opts.TempDir = env.tempDir
	if c.IsSet("max-bytes") {
		if opts.MaxBytes, err = readSize(c, "max-bytes"); err != nil {
			return err
		}
	}
	if opts.MaxCost, err = readDollars(c, "max-cost"); err != nil {
		return err
	}
	opts.Prices, err = prices(c, env)
	return err
}

// readSize reads a number of bytes.
func readSize(c *ucli.Context, name string) (int64, error) {
	n, err := units.ParseSize(c.String(name))
	if err != nil || n < 1 {
		return 0, cli.Usagef("--%s %q: want a size of at least one byte, such as 500MB or 2GiB", name, c.String(name))
	}
	return n, nil
}

// readMemory reads --memory, and sets the limit of the runtime.
func (r *request) readMemory() (err error) {
	if r.opts.GroupMemory, err = readSize(r.c, "memory"); err == nil {
		r.env.limitGroups(r.opts.GroupMemory)
	}
	return err
}

// readDollars reads a limit in dollars; 0 if it is not given.
func readDollars(c *ucli.Context, name string) (float64, error) {
	limit := c.Float64(name)
	if c.IsSet(name) && !(limit > 0 && limit <= math.MaxFloat64) {
		return 0, cli.Usagef("--%s %v: want more than 0", name, limit)
	}
	return limit, nil
}

// prices returns the prices in the file of --prices, otherwise of $LOGSTOW_PRICES; nil if neither is given.
func prices(c *ucli.Context, env environment) (*price.Table, error) {
	from, name := "--prices", c.String("prices")
	if name == "" {
		from, name = "LOGSTOW_PRICES", env.getenv("LOGSTOW_PRICES")
	}
	if name == "" {
		return nil, nil //nolint:nilnil // the default ones
	}
	data, err := os.ReadFile(name) //nolint:gosec // the user's own file
	if err != nil {
		return nil, cli.Usagef("%s: %w", from, err)
	}
	table, err := price.Parse(data)
	if err != nil {
		return nil, cli.Usagef("%s %s: %w", from, name, err)
	}
	return &table, nil
}
